"""Finding transcripts and ingesting their entries."""
