"""Commands about artifacts, and the three programs that agents use."""
