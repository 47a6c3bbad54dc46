"""Extensions: discovered, imported at their first use, and called within limits."""
