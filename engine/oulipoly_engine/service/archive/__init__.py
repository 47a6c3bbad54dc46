"""Keeping copies of transcripts."""
