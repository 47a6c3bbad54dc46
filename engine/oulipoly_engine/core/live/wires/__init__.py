"""The wires: what is known of each protocol that a CLI can be driven by, one bundle a module, and their table."""
