"""Accounts on their way in and out of the configuration, and who is logged in to them."""
