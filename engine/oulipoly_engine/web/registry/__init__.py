"""The registry of images over HTTP."""
