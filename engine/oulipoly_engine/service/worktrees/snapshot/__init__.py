"""Files of a worktree kept as commits that a reference of ours holds, and brought back from there."""
