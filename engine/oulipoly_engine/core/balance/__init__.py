"""Which account of a pool is next, and why."""
