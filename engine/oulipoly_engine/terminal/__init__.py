"""The PTY host, the emulated screen that it owns, the protocol between host and client, and the client."""
