"""What must be there before a command works, each with the one sentence that says that it is not. Pure."""

from __future__ import annotations

from enum import StrEnum


class Need(StrEnum):
    """What a command needs; its value is why it does nothing without, and the way out. No two are the same."""

    ACCOUNTS = "no account is configured"
    RECORDS = "no account is configured, and nothing is recorded"
    ACCOUNT = "choose an account first"
    MODEL = "choose a model first"
    SESSION = "choose a session first"
    ENTRY = "choose a message first"
    AGENT = "choose an agent first: 7 lists them"
    IMAGE = "choose an image first: v in Agents lists them"
    WORKTREE = "choose a worktree first"
    DEVICE = "choose a device first"
    FILE = "choose a file first"
    LINE = "choose a line of the diff first: tab goes there"
    ARTIFACT = "choose an artifact first"
    TERMINAL = "no terminal is open: choose a model under Pools and press r"
    REQUEST = "nothing is asked"
    TURN = "no turn runs"
    NO_TURN = "a turn runs: wait for its end, or interrupt it"
    MESSAGE = "no message waits"
    PROCESS = "this session has no process now: nothing runs in it"
    REVIEW = "its CLI cannot review over this protocol"  # what a driver can do: `drivers.base.Capabilities`
    SET_MODEL = "its CLI cannot change the model over this protocol"
    UNDO = "there is nothing to undo"
    WORKTREES = "there is no worktree"
    CHANGES = "nothing is changed"
    COMMENT = "there are no comments yet: enter on a line of the diff writes one"
    SERVER = "no server runs: s starts one"
    RUN = "no prompt is being answered"

    @property
    def fact(self) -> str:
        """Return what is not there as a sentence, for a list that is empty; the way out stands beside it."""
        return f"{self.value.partition(':')[0].capitalize()}."


OF_ARGUMENTS = {  # what is chosen, where a face shows it; else it is named
    "account": Need.ACCOUNT,
    "model": Need.MODEL,
    "session": Need.SESSION,
    "sessions": Need.SESSION,
    "agent name": Need.AGENT,
    "reference": Need.IMAGE,
    "device": Need.DEVICE,
    "file": Need.FILE,
    "address": Need.ARTIFACT,
    "terminal": Need.TERMINAL,
    "request": Need.REQUEST,
}
