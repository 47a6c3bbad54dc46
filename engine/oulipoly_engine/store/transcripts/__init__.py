"""Ingested entries of transcripts."""
