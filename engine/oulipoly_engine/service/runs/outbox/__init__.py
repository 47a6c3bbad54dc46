"""What others are told of one-shots."""
