"""The REPL pane and its terminals."""
