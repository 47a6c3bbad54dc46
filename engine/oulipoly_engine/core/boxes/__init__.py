"""What a program may reach: boxes around it, their levels, and their words and rules."""
