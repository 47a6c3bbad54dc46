"""Columns, redaction and other work on plain text."""
