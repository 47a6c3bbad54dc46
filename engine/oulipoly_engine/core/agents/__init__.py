"""Running agents: their states, environment, and what is written into their trees."""
