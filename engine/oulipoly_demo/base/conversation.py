"""What the one-shots and the interactive mode need of a conversation, whichever vendor's file it is kept in."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from oulipoly_demo.base.failures import Failure
from oulipoly_demo.quota.levels import Tokens

KEPT_CHARACTERS = 20_000  # of one answer: a transcript is no place for `[[big:100000000]]`


class Turn(NamedTuple):
    """One message of a conversation."""

    role: str  # "user" or "assistant"
    text: str


class Answer(NamedTuple):
    """What an account said."""

    text: str
    model: str
    tokens: Tokens


class Conversation(Protocol):
    """A conversation in its transcript file."""

    @property
    def session_id(self) -> str:
        """Return the vendor's id of the conversation."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Return the messages so far, oldest first."""

    def open(self, now: float) -> None:
        """Mark the conversation as open in this process."""

    def begin(self, prompt: str, model: str, now: float) -> None:
        """Write down the user's prompt."""

    def finish(self, answer: Answer, now: float) -> None:
        """Write down the answer to it."""

    def fail(self, failure: Failure, now: float) -> None:
        """Write down that the vendor refused it."""

    def interrupt(self, now: float) -> None:
        """Write down that the user stopped the answer."""

    def close(self) -> None:
        """Let go of whatever marks the conversation as open."""


def kept(text: str) -> str:
    """Return what a transcript keeps of an answer."""
    if len(text) <= KEPT_CHARACTERS:
        return text
    return f"{text[:KEPT_CHARACTERS]}…[{len(text) - KEPT_CHARACTERS} more characters of demo text]"
