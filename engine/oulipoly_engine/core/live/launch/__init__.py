"""Which runtimes there are, and what a live session's CLI is started with."""
