"""What a live session is drawn and written with."""
