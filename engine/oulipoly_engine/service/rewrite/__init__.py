"""Replacing a session's entries safely."""
