"""Running agents."""
