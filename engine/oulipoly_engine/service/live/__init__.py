"""Live sessions: the process that owns one, its turns, its clients, and how it is found."""
