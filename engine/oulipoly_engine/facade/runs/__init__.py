"""The parts of the facade about runs: one-shots, interactive ones, and their records."""
