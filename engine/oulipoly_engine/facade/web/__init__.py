"""What the server keeps: devices, answers, notices; and its settings."""
