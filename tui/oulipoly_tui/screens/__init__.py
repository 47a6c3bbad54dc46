"""Screens that lie over the panes for one question."""
