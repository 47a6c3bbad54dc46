"""API calls, read out of each CLI's transcripts, priced and summed."""
