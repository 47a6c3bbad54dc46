"""The set-up with an agent: its questions, and the screen that follows it."""
