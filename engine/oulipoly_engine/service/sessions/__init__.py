"""Listing, locating and moving sessions."""
