"""Quota rows, readings, alerts and controls."""
