"""The screen reader's face: lines instead of a screen."""
