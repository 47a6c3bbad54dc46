"""What is kept by the hash of its content."""
