"""A live session as lines: what was said, what is asked, what runs."""
