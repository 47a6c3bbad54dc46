"""What a session's page shows of its events: at most one entry an event, so that its number says what is new. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.entries import entry_of
from oulipoly_engine.core.live.events import FileChange, Item, Numbered
from oulipoly_engine.core.live.requests import describe_end
from oulipoly_engine.core.live.retry import describe_retry
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.records import Record
from oulipoly_engine.web.pages.weights import weight_of

LONGEST = 3000  # characters of one entry's text; the rest has a page of its own
BUDGET = 18_000  # bytes of the entries of one page
_OVERHEAD = 260  # of the markup of an entry
_LONGEST_TITLE = 400


class Entry(Record):
    """One thing that was said or done."""

    seq: int
    at: str
    kind: str  # user, agent, thought, command, change, tool, plan, runner (text of ours), notice
    title: str = ""
    text: str = ""
    left_out: int = 0  # characters
    is_bad: bool = False
    note: str = ""  # how it ended, in a word or two
    changes: tuple[FileChange, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """Return about how many bytes the page gets by it."""
        diffs = sum(weight_of(one.diff, is_diff=True) + weight_of(one.path) + 60 for one in self.changes)
        steps = sum(weight_of(one) + 20 for one, _ in self.steps)
        return _OVERHEAD + 2 * weight_of(self.title) + weight_of(self.text) + diffs + steps


_KINDS: Mapping[str, str] = {
    "user_message": "user",
    "agent_message": "agent",
    "reasoning": "thought",
    "command": "command",
    "file_change": "change",
    "plan": "plan",
    "review": "agent",
}


def make_entries(numbered: Iterable[Numbered], titles: Mapping[str, str], reader: str = "") -> tuple[Entry, ...]:
    """Return the entries of events, in their order. titles: of requests, by their ids. reader: the device's name."""
    return tuple(entry for one in numbered if (entry := _make(one, titles, reader)) is not None)


def whole_text(one: Numbered) -> str:
    """Return all that an entry shows the beginning of, as it is stored; empty: nothing was said by the event."""
    line = entry_of("", "", one)
    return "" if line is None else redact(text_of(line.body))


def newest_that_fit(entries: Sequence[Entry], budget: int = BUDGET) -> tuple[Entry, ...]:
    """Return as many of the last entries as a page holds, one at least."""
    return tuple(reversed(oldest_that_fit(tuple(reversed(entries)), budget)))


def oldest_that_fit(entries: Sequence[Entry], budget: int = BUDGET) -> tuple[Entry, ...]:
    """Return as many of the first entries as a page holds, one at least."""
    fitting: list[Entry] = []
    for entry in entries:
        budget -= entry.size
        if fitting and budget < 0:
            break
        fitting.append(entry)
    return tuple(fitting)


def running_items(numbered: Iterable[Numbered], turn_id: str | None) -> tuple[Item, ...]:
    """Return the pieces of a turn that have begun and not ended."""
    running: dict[str, Item] = {}
    for one in numbered:
        if isinstance(one.event, ev.ItemStarted) and one.event.turn_id == turn_id:
            running[one.event.item.id] = one.event.item
        elif isinstance(one.event, ev.ItemEnded):
            running.pop(one.event.item.id, None)
    return tuple(running.values())


def _make(one: Numbered, titles: Mapping[str, str], reader: str) -> Entry | None:
    match one.event:
        case ev.ItemEnded(item=item):
            return _of_item(one, item)
        case ev.RequestResolved() as event:
            said = describe_end(event.status, event.decision)
            who = f" by {event.by}" if event.by else ""
            title = titles.get(event.request_id, "a request")
            return Entry(one.seq, one.at, "notice", f"{said}{who}: {title[:_LONGEST_TITLE]}")
        case ev.TurnEnded(status="failed", message=message, code=code):
            return Entry(
                one.seq, one.at, "notice", f"The turn failed: {message or code or 'nobody knows why'}", is_bad=True
            )
        case ev.TurnEnded(status="interrupted"):
            return Entry(one.seq, one.at, "notice", "The turn was interrupted.")
        case ev.TurnRetrying() as event:
            return Entry(one.seq, one.at, "notice", describe_retry(event))
        case ev.SessionFailed(message=message):
            return Entry(one.seq, one.at, "notice", f"The session failed: {message}", is_bad=True)
        case ev.SessionClosed(reason=reason, message=message):
            return Entry(one.seq, one.at, "notice", f"Its process has ended ({reason}). {message}".rstrip())
        case ev.OrderFailed(order=order, message=message):
            return Entry(one.seq, one.at, "notice", f"{order} was refused: {message}", is_bad=True)
        case ev.ControlChanged() as event:
            return Entry(one.seq, one.at, "notice", ev.describe_control(event, reader))
        case ev.Notice(text=text, level=level):
            return Entry(one.seq, one.at, "notice", text[:LONGEST], is_bad=level == "error")
        case _:
            return None


def _of_item(one: Numbered, item: Item) -> Entry:
    text, left_out = _cut(redact(item.text), LONGEST)
    changes, note = [], ""
    for change in item.changes[:20]:
        diff, cut = _cut(redact(change.diff), LONGEST // min(len(item.changes), 20))
        left_out += cut
        changes.append(FileChange(change.path[:_LONGEST_TITLE], change.kind, diff))
    if item.kind == "command":
        note = f"exit code {item.exit_code}" if item.exit_code else ""
    if item.untaken:
        note = item.untaken
    elif item.status not in ("completed", "running"):
        note = item.status if not note else f"{item.status}, {note}"
    title, cut = _cut(redact(item.title), _LONGEST_TITLE)
    return Entry(
        one.seq,
        one.at,
        "runner" if item.native_kind == ev.RESUMES else _KINDS.get(item.kind, "tool"),
        title,
        text,
        left_out + cut,
        (item.status in ("failed", "declined") and not item.untaken) or bool(item.exit_code),
        note,
        tuple(changes),
        tuple((step[:_LONGEST_TITLE], state) for step, state in item.steps[:50]),
    )


def _cut(text: str, limit: int) -> tuple[str, int]:
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)
