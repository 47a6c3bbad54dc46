"""A terminal seen from a client: keys in, pictures out."""
