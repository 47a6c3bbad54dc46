"""Commands on running agents."""
