"""Agents that were run."""
