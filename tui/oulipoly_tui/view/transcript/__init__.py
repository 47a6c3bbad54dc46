"""Transcripts, Markdown and code, ready to be drawn."""
