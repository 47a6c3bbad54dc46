"""The index of kept copies and bundles."""
