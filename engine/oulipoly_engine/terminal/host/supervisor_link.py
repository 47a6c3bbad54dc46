"""What the supervisor of a terminal and the process of its screen tell each other, over a socket pair."""

from __future__ import annotations

from oulipoly_engine.terminal.protocol.messages import Bye, Exited, Kill, Message


class TitleReport(Message, frozen=True, tag="titled"):
    """The child has given itself a title."""

    title: str


class AliveReport(Message, frozen=True, tag="alive"):
    """The screen's process works: the answer to Ask, and told in between while it draws what was lost."""


class DrainReport(Message, frozen=True, tag="drained"):
    """The answer to Drain: all that the ended child has printed is kept."""


class AliveRequest(Message, frozen=True, tag="ask"):
    """The supervisor wants to know whether the screen's process hangs."""


class DrainRequest(Message, frozen=True, tag="drain"):
    """The child has ended: read what it printed last."""


class EndReport(Message, frozen=True, tag="done"):
    """The child has ended, and somebody has seen it or an hour has passed: the host may go."""


FromScreen = TitleReport | Kill | EndReport | AliveReport | DrainReport
FromSupervisor = Exited | Bye | AliveRequest | DrainRequest  # Bye: the host was told to end
