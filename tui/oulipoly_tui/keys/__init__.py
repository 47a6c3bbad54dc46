"""The rows of the table of keys, a module a part of the app."""
