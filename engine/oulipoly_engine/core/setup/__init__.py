"""The set-up agent: what it may do, what it asks, what it remembers."""
