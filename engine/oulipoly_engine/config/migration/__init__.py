"""Bring configurations of older kinds into the form of today."""
