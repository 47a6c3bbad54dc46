"""What a chat prints while a turn runs: the answer as it comes, or each event as a line of JSON."""

from __future__ import annotations

from typing import Protocol

from oulipoly_engine.cli.live.follow import describe
from oulipoly_engine.cli.live.turn_result import watch
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.facade import diagnostics, output


class Writer(Protocol):
    """What is given the events of a turn, each once and in order, but for items that are not whole."""

    @property
    def takes_deltas(self) -> bool:
        """Return whether texts are printed as they come."""

    @property
    def is_answer_shown(self) -> bool:
        """Return whether nothing of the answer is left to be printed."""

    def take(self, numbered: ev.Numbered) -> bool:
        """Print what has happened; returns whether a person is asked who is to answer before the turn goes on."""

    def end(self) -> None:
        """Print what is left of a turn that is over."""


class JsonLines:
    """Each event as `session follow --json` has it."""

    takes_deltas = True
    is_answer_shown = True

    def take(self, numbered: ev.Numbered) -> bool:
        """Print an event."""
        output.write_json(ev.to_json(numbered), pretty=False)
        return _is_question(numbered.event)

    def end(self) -> None:
        """Print nothing more."""


class AnswerAlone:
    """Nothing until the answer is whole, but why nothing comes of it, on stderr."""

    takes_deltas = False
    is_answer_shown = False

    def __init__(self) -> None:
        self.take = watch(until_asked=False)

    def end(self) -> None:
        """Print nothing more."""


class AnswerText:
    """The agent's words on stdout as they come, and what it does on stderr."""

    takes_deltas = True

    def __init__(self, *, asks: bool) -> None:
        """asks: whoever reads this answers what is asked as well."""
        self._asks = asks
        self._written: dict[str, str] = {}  # of the messages of this turn, by the ids of their items
        self._open = ""  # the message whose line is not ended

    @property
    def is_answer_shown(self) -> bool:
        """Return whether anything of an answer was printed."""
        return bool(self._written)

    def take(self, numbered: ev.Numbered) -> bool:
        """Print an event."""
        match numbered.event:
            case ev.ItemDelta(kind="agent_message") as delta:
                self._write(delta.item_id, delta.text)
            case ev.ItemStarted(item=item) if item.kind == "agent_message":
                self._catch_up(item)
            case ev.ItemEnded(item=item) if item.kind == "agent_message":
                self._catch_up(item)
                self._end_line()
            case ev.ItemDelta() | ev.TurnEnded():
                pass
            case ev.ItemEnded(item=item) if item.kind == "user_message":
                pass
            case event if self._asks and _is_question(event):
                return True
            case event:
                self._note(describe(event))
        return False

    def end(self) -> None:
        """End the last line, and begin the next turn."""
        self._end_line()
        self._written.clear()

    def _catch_up(self, item: ev.Item) -> None:
        """Print what of a message was not heard: it began before we listened, or went by too fast."""
        known = self._written.get(item.id, "")
        if item.text.startswith(known):
            self._write(item.id, item.text[len(known) :])

    def _write(self, item_id: str, text: str) -> None:
        if not text:
            return
        if self._open != item_id:
            self._end_line()
        self._open = item_id
        self._written[item_id] = self._written.get(item_id, "") + text
        output.write_block(text)

    def _end_line(self) -> None:
        if self._open and not self._written[self._open].endswith("\n"):
            output.write_block("\n")
        self._open = ""

    def _note(self, line: str) -> None:
        if not line:
            return
        if self._open and output.is_terminal():
            self._end_line()
        diagnostics.note(line)


def _is_question(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.RequestOpened) and event.kind != "other"
