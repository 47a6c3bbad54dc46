"""Terminals, ready to be drawn."""
