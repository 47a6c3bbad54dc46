"""Sessions, searches and exports, ready to be drawn."""
