"""Sessions that work by themselves, for screen readers: begun, talked to, their changes, their worktrees."""
