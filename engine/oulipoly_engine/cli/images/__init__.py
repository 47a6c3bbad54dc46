"""The commands on images of agents."""
