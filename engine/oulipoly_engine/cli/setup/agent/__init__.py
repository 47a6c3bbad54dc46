"""The set-up agent on the command line."""
