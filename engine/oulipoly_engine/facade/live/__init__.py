"""Live sessions and the runtimes that serve them: what is asked and ordered."""
