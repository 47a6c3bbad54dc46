"""What an agent does with a prompt, as the typed events that openotters' runtimes stream. Pure.

step.start      the turn begins
text.delta      more of the answer
tool.call       a tool begins; `tool_id` is that of its result
tool.result     it has ended: its output, and how long it took
message.create  the whole answer, once, at the end of a turn that was completed
step.finish     the turn is over
error           why a turn has failed
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.records import Record, replace

PromptEventType = Literal[
    "step.start", "step.finish", "text.delta", "tool.call", "tool.result", "message.create", "error"
]
_TOOLS: tuple[ev.ItemKind, ...] = ("command", "file_change", "tool")


class PromptEvent(Record):
    """One event of a prompt."""

    type: PromptEventType
    step: int = 1  # the turn of this prompt, from 1: one that is tried again is another
    tool: str = ""  # its name, or the command
    content: str = ""  # text, a tool's output, an error
    tool_id: str = ""
    duration_ms: int | None = None  # of tool.result; None: its beginning was not heard


class PromptEvents:
    """Makes the events of one prompt of what is heard of its session."""

    def __init__(self) -> None:
        self._step = 0
        self._texts: dict[str, str] = {}  # that were told, by the ids of their messages
        self._begun: dict[str, str] = {}  # when tools began, by their ids

    def take(self, numbered: ev.Numbered) -> tuple[PromptEvent, ...]:
        """Return what an event is to whoever has prompted, in order."""
        match numbered.event:
            case ev.TurnStarted():
                self._step += 1
                return (self._event("step.start"),)
            case ev.TurnEnded() as end:
                return self._end(end)
            case ev.TurnRetrying(message=message):
                return (self._event("error", content=message),)
            case ev.ItemDelta(kind="agent_message", item_id=item_id, text=text):
                return self._add_text(item_id, text)
            case ev.ItemStarted(item=item) | ev.ItemEnded(item=item) if item.kind == "agent_message":
                known = self._texts.get(item.id, "")  # a message may come without its deltas
                return self._add_text(item.id, item.text[len(known) :] if item.text.startswith(known) else "")
            case ev.ItemStarted(item=item) if item.kind in _TOOLS and item.id not in self._begun:
                self._begun[item.id] = numbered.at
                return (self._event("tool.call", tool=_name(item), tool_id=item.id),)
            case ev.ItemEnded(item=item) if item.kind in _TOOLS:
                return self._end_tool(item, numbered.at)
        return ()

    def _add_text(self, item_id: str, text: str) -> tuple[PromptEvent, ...]:
        self._texts[item_id] = self._texts.get(item_id, "") + text
        return (self._event("text.delta", content=text),) if text else ()

    def _end_tool(self, item: ev.Item, at: str) -> tuple[PromptEvent, ...]:
        begun = self._begun.pop(item.id, None)
        result = self._event("tool.result", tool=_name(item), content=item.text, tool_id=item.id)
        if begun is None:  # each result has its call
            return self._event("tool.call", tool=_name(item), tool_id=item.id), result
        taken = datetime.fromisoformat(at) - datetime.fromisoformat(begun)
        return (replace(result, duration_ms=round(taken.total_seconds() * 1000)),)

    def _end(self, end: ev.TurnEnded) -> tuple[PromptEvent, ...]:
        if end.status == "completed":
            outcome = self._event("message.create", content=end.reply)
        else:
            outcome = self._event("error", content=end.message or f"the turn was {end.status}")
        return outcome, self._event("step.finish")

    def _event(self, type_: PromptEventType, *, tool: str = "", content: str = "", tool_id: str = "") -> PromptEvent:
        return PromptEvent(type_, max(self._step, 1), tool, content, tool_id)


def _name(item: ev.Item) -> str:
    return item.title or item.native_kind or item.kind
