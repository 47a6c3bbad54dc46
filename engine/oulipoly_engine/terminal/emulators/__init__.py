"""Screen emulators behind one interface."""
