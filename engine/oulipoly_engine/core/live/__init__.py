"""Live sessions: events, states, requests, capabilities and permissions, whichever CLI it is."""
