"""The Pools and Quota panes."""
