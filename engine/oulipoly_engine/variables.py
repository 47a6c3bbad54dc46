"""The environment variables that are ours: the only place of their names. docs/settings.md lists them from here."""

from __future__ import annotations

from collections.abc import Mapping

DATA_DIR = "OULIPOLY_DATA_DIR"
SERVE_HOST = "OULIPOLY_SERVE_HOST"
SERVE_PORT = "OULIPOLY_SERVE_PORT"
TERMINAL = "OULIPOLY_TERMINAL"
PARENT_INVOCATION = "OULIPOLY_PARENT_INVOCATION"
RETURN_CHANNEL = "OULIPOLY_RETURN_CHANNEL"
ARTIFACT_STORE = "OULIPOLY_ARTIFACT_STORE"
SESSION_ARTIFACTS = "OULIPOLY_SESSION_ARTIFACTS"
API_KEY = "AGENT_RUNNER_API_KEY"
DEMO = "OULIPOLY_DEMO"

SETTING = "AGENT_RUNNER_"  # begins the variable of each setting; its key follows, in capitals
SETTINGS = (SETTING, "OXI_")  # with the names that oxi has for some of them

# What each means, for a user.
TAKEN: Mapping[str, str] = {
    DATA_DIR: "The folder of the state file and of all that is kept; terminals of another folder are another world's.",
    SERVE_HOST: "The address that `serve` listens on where `--host` does not say; else 127.0.0.1.",
    SERVE_PORT: "The port of `serve` where `--port` does not say; else 8787, or another where it is taken.",
}
GIVEN: Mapping[str, str] = {
    PARENT_INVOCATION: "The run in which a program runs, so that what it starts counts as started by that run.",
    RETURN_CHANNEL: "The file to which receipts of returned artifacts are appended.",
    ARTIFACT_STORE: "The file of the store in which artifacts lie.",
    SESSION_ARTIFACTS: "The folder of a live session for the files that it makes for people.",
    TERMINAL: "The terminal in which a program runs.",
    API_KEY: "The API key of an account whose CLI takes any variable's name for it.",
    DEMO: "`1` in the world of `demo`.",
}
