"""Commands about quota and accounts."""
