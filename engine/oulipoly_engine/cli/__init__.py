"""The headless face: parser, commands, the one writer of stdout and the one writer of stderr."""
