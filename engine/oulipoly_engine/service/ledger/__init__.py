"""Keeping the ledger of API calls and answering from it."""
