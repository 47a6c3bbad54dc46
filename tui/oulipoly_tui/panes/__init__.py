"""The panes: one module and one style sheet each."""
