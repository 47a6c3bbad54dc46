"""Packing sessions into bundles and unpacking them."""
