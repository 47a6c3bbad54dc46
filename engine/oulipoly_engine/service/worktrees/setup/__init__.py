"""What a new worktree needs beside what git checks out: files, submodules, ports, and commands of the repository."""
