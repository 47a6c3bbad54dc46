"""The pane of live sessions."""
