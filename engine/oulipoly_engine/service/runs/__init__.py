"""Running a CLI once: attempts, outcomes, records."""
