"""What every part of the facade has: the home with its store and services, the configuration, upkeep."""
