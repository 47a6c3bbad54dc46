"""What faces ask and order about sessions, a module for each kind of question."""
