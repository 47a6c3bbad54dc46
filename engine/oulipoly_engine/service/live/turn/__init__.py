"""What a turn of a live session has besides its items: what it was given, and what becomes of it when it fails."""
