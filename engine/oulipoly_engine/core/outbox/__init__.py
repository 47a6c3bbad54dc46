"""What the outbox tells of what has happened."""
