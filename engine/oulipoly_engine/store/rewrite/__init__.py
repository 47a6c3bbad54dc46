"""Replacements of transcripts."""
