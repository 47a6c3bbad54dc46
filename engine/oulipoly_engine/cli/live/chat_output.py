"""What a chat prints while a turn runs: the answer as it comes, or each event as a line of JSON."""

from __future__ import annotations

from typing import Literal

from oulipoly_engine.cli.live.follow import describe
from oulipoly_engine.cli.live.turn_result import watch
from oulipoly_engine.core.agents.prompt_events import PromptEvents
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.records import asdict

# text: the agent's words on stdout as they come, what it does on stderr. answer: nothing but why nothing comes of it.
# json: each event of the session, events: what they are to whoever has prompted; a line of JSON each.
Form = Literal["text", "answer", "json", "events"]

_STOP = "Ctrl-C"  # what ends a turn here


class Printer:
    """Prints the events of a turn, each once and in order, but for items that are not whole."""

    def __init__(self, form: Form, *, asks: bool = False) -> None:
        """asks: whoever reads this answers what is asked as well."""
        self.form = form
        self._asks = asks
        self._written: dict[str, str] = {}  # of the messages of this turn, by the ids of their items
        self._open = ""  # the message whose line is not ended
        self._prompt_events = PromptEvents()

    def take(self, numbered: ev.Numbered) -> bool:
        """Print an event; returns whether no more is to be heard before a person has answered."""
        if self.form == "events":
            for prompt_event in self._prompt_events.take(numbered):
                output.write_json(asdict(prompt_event), pretty=False)
        if self.form in ("answer", "events"):
            return watch(until_asked=False, stop=_STOP)(numbered)
        event = numbered.event
        is_question = isinstance(event, ev.RequestOpened) and event.kind != "other"
        if self.form == "json":
            output.write_json(ev.to_json(numbered), pretty=False)
            return is_question
        if is_question and self._asks:
            return True
        self._take_text(event)
        return False

    def end(self) -> bool:
        """End the last line; returns whether nothing of the turn's answer is left to be printed."""
        self._end_line()
        is_shown = bool(self._written) or self.form in ("json", "events")
        self._written.clear()
        return is_shown

    def _take_text(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ItemDelta(kind="agent_message"):
                self._write(event.item_id, event.text)
            case ev.ItemStarted(item=item) | ev.ItemEnded(item=item) if item.kind == "agent_message":
                known = self._written.get(item.id, "")
                if item.text.startswith(known):  # it began before we listened, or went by too fast
                    self._write(item.id, item.text[len(known) :])
                if isinstance(event, ev.ItemEnded):
                    self._end_line()
            case ev.ItemDelta() | ev.TurnEnded():
                pass
            case ev.ItemEnded(item=item) if item.kind == "user_message":
                pass
            case _:
                if line := describe(event, _STOP):
                    if self._open and output.is_terminal():
                        self._end_line()
                    diagnostics.note(line)

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
