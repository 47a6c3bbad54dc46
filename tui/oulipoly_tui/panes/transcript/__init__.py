"""The Transcript pane."""
