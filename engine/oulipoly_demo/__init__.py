"""A throw-away world with made-up accounts and CLIs."""
