"""The query language, ranks and snippets."""
