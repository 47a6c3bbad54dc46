"""Agents and their images as lines."""
