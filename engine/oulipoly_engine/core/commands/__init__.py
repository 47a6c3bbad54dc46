"""What a user can do: each command once, for all faces; one module a capability."""
