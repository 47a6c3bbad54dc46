"""Telemetry: a reader of the outbox that keeps what was used in a file of the user's own, where that is wanted."""
