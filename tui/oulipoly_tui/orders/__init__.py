"""The commands of the palette and of the colon line, a module a part of the app."""
