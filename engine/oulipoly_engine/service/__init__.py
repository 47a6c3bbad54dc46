"""What users ask for, one use case a module."""
