"""The process that owns a terminal and outlives its clients."""
