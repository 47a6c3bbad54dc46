"""The frame around the panes, ready to be drawn."""
