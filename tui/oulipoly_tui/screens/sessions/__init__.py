"""Screens about sessions: search, export, import."""
