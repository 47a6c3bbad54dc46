"""Commands for sessions that work by themselves, and for the server."""
