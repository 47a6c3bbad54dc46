"""The full-screen app. Imports the engine; the engine never imports it."""
