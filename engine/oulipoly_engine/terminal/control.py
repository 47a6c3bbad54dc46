"""What the supervisor of a terminal and the process of its screen tell each other, over a socket pair."""

from __future__ import annotations

from oulipoly_engine.terminal.wire import Bye, Exited, Kill, Message


class Titled(Message, frozen=True, tag="titled"):
    """The child has given itself a title."""

    title: str


class Done(Message, frozen=True, tag="done"):
    """The child has ended, and somebody has seen it or an hour has passed: the host may go."""


FromScreen = Titled | Kill | Done
FromSupervisor = Exited | Bye  # Bye: the host was told to end
