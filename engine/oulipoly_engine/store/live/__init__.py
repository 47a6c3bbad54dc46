"""Live sessions, their turns, events, requests and queues."""
