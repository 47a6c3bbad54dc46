"""Configuration files to checked core values, and edits that keep comments."""
