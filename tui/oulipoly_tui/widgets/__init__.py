"""Parts that several panes use."""
