"""What a removal would lose, kept as a commit below `refs/agent-runner/salvage/`, and brought back from there."""
