"""Read the texts of TOML files, find the lines of their keys, and edit them without losing a comment."""
