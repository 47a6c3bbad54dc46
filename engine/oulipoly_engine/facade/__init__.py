"""The one door to the engine: every face goes through it."""
