"""Git as worktrees need it: a repository, its lock, what git says, and the guard of paths."""
