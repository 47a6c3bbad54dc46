"""The server's devices: what each may do, and what a notice says."""
