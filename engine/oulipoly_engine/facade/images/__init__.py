"""Images of agents as faces ask for them."""
