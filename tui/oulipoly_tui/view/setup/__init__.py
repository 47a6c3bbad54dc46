"""What the set-up with an agent shows, as lines."""
