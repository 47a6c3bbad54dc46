"""What commands, screens and both faces order: a command by its name, a program in a terminal, work on a branch."""
