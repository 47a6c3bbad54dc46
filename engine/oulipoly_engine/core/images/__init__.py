"""Agents as files and as OCI images."""
