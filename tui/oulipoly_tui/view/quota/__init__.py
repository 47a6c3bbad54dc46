"""Accounts, pools, windows and burn, ready to be drawn."""
