"""Sessions, their segments, facts and notes."""
