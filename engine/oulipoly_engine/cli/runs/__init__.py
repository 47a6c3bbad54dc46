"""Commands that run a CLI or tell of runs."""
