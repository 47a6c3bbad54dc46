"""What a session has changed: looked at, staged, committed, merged and pushed."""
