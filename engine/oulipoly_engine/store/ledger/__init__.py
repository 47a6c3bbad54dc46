"""API calls and prices."""
