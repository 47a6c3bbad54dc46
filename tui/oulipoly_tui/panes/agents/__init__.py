"""The pane of the agents."""
