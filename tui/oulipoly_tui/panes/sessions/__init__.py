"""The Sessions pane and its actions."""
