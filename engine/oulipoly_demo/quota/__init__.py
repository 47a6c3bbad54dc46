"""Made-up quota."""
