"""Screens of live sessions: the inbox, what waits to be sent."""
