"""Screens of sessions that work by themselves: to begin one, its changes, the worktrees, the server."""
