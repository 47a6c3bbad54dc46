"""What the actions do: the functions that the registry names, and the line and the palette that run them."""
