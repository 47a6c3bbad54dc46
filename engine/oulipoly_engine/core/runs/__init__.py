"""What a run is, how its outcome is read, and how it is traced."""
