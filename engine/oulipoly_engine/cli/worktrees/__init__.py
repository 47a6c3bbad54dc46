"""Commands about worktrees and their changes."""
