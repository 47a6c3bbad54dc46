"""What was said in a live session, as entries: what search, `show` and `export` read of it. Pure.

An entry's id holds its session and the number of its event, so that the entries themselves tell how far they go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import Branch
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, BodyChunk, EntryLine, encode_body, is_instant
from oulipoly_engine.records import Record, replace

_TEXT, _THINKING, _CALL, _RESULT, _CONTEXT = "text", "thinking", "tool_use", "tool_result", "context"


class Stretch(Record):
    """A part of a live session that its CLI keeps as a session of its own."""

    native_id: str  # the CLI's own id; empty: it has told none yet
    begin: int = 0  # the number of the event behind which it begins
    former_ids: tuple[str, ...] = ()  # under which processes before have had it
    behind: Branch | None = None  # where a person went back, and it begins


def find_stretches(
    events: Iterable[ev.Numbered], native_id: str, branches: Iterable[Branch] = ()
) -> tuple[Stretch, ...]:
    """Return the stretches of a session by the events that tell native ids, the first one first; at least one.

    native_id: under which it goes on now.

    A CLI that changes its id begins a new session of its own, as Claude does by /clear. One whose next process opens
    the session under another id goes on with the same one, unless a person went back in it before.
    """
    stretches = [Stretch("")]
    branched = {branch.native_id: branch for branch in branches}
    for numbered in events:
        last = stretches[-1]
        # One that its CLI had recorded before was never named while it was live.
        recorded = (branch.native_id for branch in branched.values() if branch.seq < numbered.seq)
        known = last.native_id or next(recorded, "")
        match numbered.event:
            case ev.SessionOpened(new_id) | ev.NativeIdChanged(new_id) if (
                new_id and known in branched and new_id != known
            ):
                stretches.append(Stretch(new_id, branched[known].seq, behind=branched[known]))
            case ev.NativeIdChanged(new_id) if last.native_id and new_id != last.native_id:
                stretches.append(Stretch(new_id, numbered.seq))
            case ev.SessionOpened(new_id) | ev.NativeIdChanged(new_id) if new_id:
                stretches[-1] = _rename(last, new_id)
            case _:
                pass
    return (*stretches[:-1], _rename(stretches[-1], native_id))


def _rename(stretch: Stretch, native_id: str) -> Stretch:
    if stretch.native_id in ("", native_id):
        return replace(stretch, native_id=native_id)
    former_ids = (each for each in (*stretch.former_ids, stretch.native_id) if each != native_id)  # one may come back
    return replace(stretch, native_id=native_id, former_ids=tuple(former_ids))


def begin_of_ids(session_id: str) -> str:
    """Return what the ids of a live session's entries begin with; the rest are digits, so that they sort."""
    return f"{LIVE_IDS}{session_id}/"


def event_of(entry_id: str) -> tuple[str, int]:
    """Return the live session, or the run, that has made an entry, and the number of its event."""
    owner, _, number = entry_id.removeprefix(LIVE_IDS).rpartition("/")
    return owner, int(number)


def entry_of(session_id: str, native_id: str, numbered: ev.Numbered) -> EntryLine | None:
    """Return the entry that an event is, under the CLI's own id of its session; None: nothing was said by it."""
    if not isinstance(numbered.event, ev.ItemEnded):
        return None
    item = numbered.event.item
    if item.untaken:
        return None
    chunks = tuple(_chunks(item))
    if numbered.event.hides is not None:
        chunks = (BodyChunk(_CONTEXT, item.text, numbered.event.hides.first_kept),)
    body = encode_body(chunks)
    if body is None or not is_instant(numbered.at):
        return None
    return EntryLine(
        session_id=native_id,
        entry_id=f"{begin_of_ids(session_id)}{numbered.seq:010}",
        timestamp=numbered.at,
        role="user" if item.kind == "user_message" else "assistant",
        is_compaction_boundary=item.kind == "compaction",
        body=body,
        turn_id=numbered.event.turn_id or None,
        native_id=item.id or None,
    )


def _chunks(item: ev.Item) -> Iterator[BodyChunk]:
    """Yield the pieces of an item that carry text, by the types that transcripts have for them."""
    match item.kind:
        case "user_message" if item.native_kind == ev.RESUMES:  # nobody has typed it
            parts = [(_CONTEXT, item.text)]
        case "user_message" | "agent_message" | "review":
            parts = [(_TEXT, item.text)]
        case "reasoning":
            parts = [(_THINKING, item.text)]
        case "compaction":
            parts = [(_CONTEXT, item.text or item.title or "what was said before was compacted")]
        case _:
            parts = [(_CALL, "\n".join(_call_lines(item))), (_RESULT, item.text)]
    return (BodyChunk(kind, text) for kind, text in parts if text.strip())


def _call_lines(item: ev.Item) -> Iterator[str]:
    """Yield what a tool was given, as it is told: its title, the steps of a plan, the changes of files."""
    if item.title:
        yield item.title
    for step, status in item.steps:
        yield f"{status}: {step}"
    for change in item.changes:
        yield f"{change.kind} {change.path}"
        if change.diff:
            yield change.diff
