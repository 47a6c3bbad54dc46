"""How extensions do."""
