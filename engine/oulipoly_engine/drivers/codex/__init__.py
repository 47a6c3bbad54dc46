"""Sessions with codex through `codex app-server`."""
