"""Interactive runs and the terminals that they live in."""
