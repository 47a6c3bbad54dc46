"""The full-screen app. Imports the engine; the engine never imports it."""

APP_OPTIONS = ("--linear", "--read-only", "--no-anim")  # the headless command knows them too, to say what they exclude
