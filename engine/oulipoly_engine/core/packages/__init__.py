"""What packages are, hold and change."""
