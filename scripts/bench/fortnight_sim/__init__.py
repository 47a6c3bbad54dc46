"""A simulated fortnight of work on a pool of accounts, to measure what a choice of accounts is worth."""
