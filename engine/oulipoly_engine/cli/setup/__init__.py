"""Commands about configuration and the state file."""
