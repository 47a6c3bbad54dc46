"""Lines of a live session that begin with a slash."""
