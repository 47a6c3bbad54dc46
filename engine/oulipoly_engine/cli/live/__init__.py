"""Commands for live sessions, what they ask, and the runtimes that serve them."""
