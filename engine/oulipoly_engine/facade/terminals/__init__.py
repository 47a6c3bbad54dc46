"""The parts of the facade about terminals in hosts of their own."""
