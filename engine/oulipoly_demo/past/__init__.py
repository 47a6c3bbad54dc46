"""The made-up past of the world: sessions, quota, state."""
