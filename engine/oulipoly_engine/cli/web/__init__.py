"""`serve`, and the devices that may use the server."""
