"""The only spawning of processes."""
