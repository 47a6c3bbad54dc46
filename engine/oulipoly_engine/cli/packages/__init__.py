"""The commands on packages."""
