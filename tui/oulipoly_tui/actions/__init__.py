"""Everything that a user can do in the app: one registry, a module a group."""
