"""Change single settings and views in the configuration files."""
