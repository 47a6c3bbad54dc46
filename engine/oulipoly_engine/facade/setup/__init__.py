"""The set-up agent, and what belongs to it."""
