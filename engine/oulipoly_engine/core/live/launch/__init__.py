"""What a live session's CLI is started with."""
