"""What artifacts are called, and the receipts of those that were returned. Pure."""
