"""What every command has: its table, its context, the parser, progress, standard input."""
