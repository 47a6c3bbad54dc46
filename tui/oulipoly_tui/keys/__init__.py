"""Keys: which are whose for this user, and how people write them."""
