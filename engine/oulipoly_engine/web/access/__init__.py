"""Who may ask the server for what: devices, the check of every request, certificates."""
