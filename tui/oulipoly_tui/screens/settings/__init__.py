"""The settings, and what is asked to change one."""
