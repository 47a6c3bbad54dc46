"""What has happened, for who has asked to be told."""
