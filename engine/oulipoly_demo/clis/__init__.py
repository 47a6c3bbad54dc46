"""Made-up claude and codex programs and the files that they write."""
