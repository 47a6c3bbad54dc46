"""Packages as faces ask for them."""
