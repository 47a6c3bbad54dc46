"""Accounts, models and what users say of them, as checked values."""
