"""Storing, reading, removing and returning artifacts."""
