"""Shell completion: `agents completion SHELL` prints the script, which asks `agents __complete` at each word."""
