"""What reading a configuration rests on: problems, text files, masks, the app's settings as values."""
