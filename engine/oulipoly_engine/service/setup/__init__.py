"""The set-up agent at work, and what it does for a user."""
