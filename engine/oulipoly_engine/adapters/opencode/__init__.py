"""Readers of opencode's own database."""
