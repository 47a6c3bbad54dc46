"""Sessions, their segments, and how an id finds one."""
