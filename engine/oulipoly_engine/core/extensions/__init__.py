"""Extensions: what they declare, what they may do, their states and hooks."""
