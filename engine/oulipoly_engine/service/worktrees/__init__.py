"""Worktrees of sessions: made, guarded, looked at, merged and removed, with git itself."""
