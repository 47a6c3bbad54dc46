"""One terminal on the whole screen, without the app."""
