"""What a terminal's host and its clients say to each other."""
