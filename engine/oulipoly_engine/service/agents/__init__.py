"""Running agents: brought up, watched, stopped and removed, and their tools."""
