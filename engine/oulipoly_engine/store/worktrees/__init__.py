"""Rows of worktrees and of what is being done to them."""
