"""Following transcripts and files as they change."""
