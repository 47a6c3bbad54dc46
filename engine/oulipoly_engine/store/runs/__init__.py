"""Invocations and what they returned."""
