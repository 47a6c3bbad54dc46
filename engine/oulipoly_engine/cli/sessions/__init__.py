"""Commands about sessions."""
