"""The messages between a terminal's supervisor and its screen process, over a socket pair."""

from __future__ import annotations

from oulipoly_engine.terminal.protocol.messages import Bye, Exited, Kill, Message


class TitleReport(Message, frozen=True, tag="titled"):
    """The child has set the terminal's title."""

    title: str


class AliveReport(Message, frozen=True, tag="alive"):
    """The screen process works. It answers AliveRequest, and is also sent while lost output is drawn again."""


class DrainReport(Message, frozen=True, tag="drained"):
    """The answer to DrainRequest: everything that the ended child has printed is in the crash buffer."""


class AliveRequest(Message, frozen=True, tag="ask"):
    """The supervisor asks whether the screen process works."""


class DrainRequest(Message, frozen=True, tag="drain"):
    """The child has ended: read what it printed last."""


class EndReport(Message, frozen=True, tag="done"):
    """The child has ended, and a user has seen it or an hour has passed: the host may end."""


FromScreen = TitleReport | Kill | EndReport | AliveReport | DrainReport
FromSupervisor = Exited | Bye | AliveRequest | DrainRequest  # Bye: the host was told to end
