"""Sessions that work by themselves, their changes, their worktrees and the server, as lines. Pure."""
