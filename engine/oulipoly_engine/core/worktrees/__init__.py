"""Worktrees of sessions: what they are, what git says of them, what may be removed."""
