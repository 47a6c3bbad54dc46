"""Screens that belong to terminals."""
