"""The screen emulated by libghostty-vt."""
