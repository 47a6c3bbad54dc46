"""The state file itself: opened, migrated, probed, rebuilt."""
