"""Everything that a user can do in the app: one registry and its groups."""
