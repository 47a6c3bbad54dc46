"""What outlives its clients, terminals and live sessions alike: the runtime folder, the launcher, frames, the link."""
