"""Rows of the server: its devices, the answers it keeps, the notices it has sent."""
