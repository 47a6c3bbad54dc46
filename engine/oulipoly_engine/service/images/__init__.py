"""Images of agents: built, kept, compared, signed."""
