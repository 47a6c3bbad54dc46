"""Configuration as it stands, settings and the first set-up."""
