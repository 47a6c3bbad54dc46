"""What goes between a host and its CLI: kept where that is asked for, without secrets."""
