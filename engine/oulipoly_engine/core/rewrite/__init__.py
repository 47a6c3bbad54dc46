"""Replacing the entries of a transcript without losing what is not ours."""
