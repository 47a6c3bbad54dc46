"""Commands of the set-up agent, and what it uses that people can use themselves."""
