"""Runtimes of live sessions as they are asked who they are, and their homes."""
