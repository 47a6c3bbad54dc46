"""Commands on extensions."""
