"""What a person has allowed by a digest."""
