"""Each CLI's transcripts as canonical records, dialogue and documents."""
