"""The app's own terminal: keys, pastes, clipboard."""
