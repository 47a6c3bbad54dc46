"""How the operating system holds a box: what this machine can give, and the calls for it."""
