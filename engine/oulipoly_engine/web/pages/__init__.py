"""Pages for a phone, on the same paths as REST."""
