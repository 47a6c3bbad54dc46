"""The server's face: REST, events and pages for a phone. Only `agents serve` imports it."""
