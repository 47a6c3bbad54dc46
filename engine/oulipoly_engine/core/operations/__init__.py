"""What is done in steps that a kill may cut."""
