"""Packages: taken in, kept, switched and removed."""
