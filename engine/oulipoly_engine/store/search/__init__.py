"""The full-text index and questions to it."""
