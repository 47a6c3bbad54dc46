"""What every part of the app may know: the app's interface, its frame and panes, messages, what is asked."""
