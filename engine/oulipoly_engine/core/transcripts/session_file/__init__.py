"""Session files of versions 0 to 3: JSON lines that hold a session's whole tree."""
