"""What the faces ask and order about worktrees and their changes."""
