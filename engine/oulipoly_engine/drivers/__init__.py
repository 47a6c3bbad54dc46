"""The CLIs' own protocols, one driver each: bytes in, bytes and events out. They start nothing and wait for nothing."""
