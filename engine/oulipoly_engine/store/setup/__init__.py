"""What the set-up agent remembers."""
