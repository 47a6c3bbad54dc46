"""Bundles and the chunks of kept copies."""
