"""Forks: a session with the past of another one, by the CLI itself where it can, else with a preface."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import Branch, LiveSession, Turn, first_line, why_elsewhere
from oulipoly_engine.core.sessions.compaction import Message, guess_tokens
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import (
    PREFACE,
    PREFACE_END,
    find_first_kept,
    find_kept,
    passages,
    text_of,
)
from oulipoly_engine.core.transcripts.session_file.entry import SPEAKING
from oulipoly_engine.core.transcripts.turn_script import BRANCH_SUMMARY, CHANGES, COMPACTION, OWN_KINDS
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import RuntimeUnknown, TurnNotFound
from oulipoly_engine.records import Record, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions, pasts
from oulipoly_engine.store.sessions import leaves
from oulipoly_engine.store.sessions.forks import read_history
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_pages import Entry, find_parts
from oulipoly_engine.store.transcripts.entry_paths import (
    EntryPlace,
    find_beginning_with,
    find_last_of_turn,
    find_sessions_of_turns,
    read_back,
    read_context_back,
)

if TYPE_CHECKING:
    from oulipoly_engine.core.live.launch.catalogue import Catalogue

PREFACE_LIMIT = 200_000  # characters of what was said: the older part is left out first
PREFACE_LOSSES = ("what the tools printed", "the agent's thoughts", "what was allowed for the whole session")
_LAST_EVENTS = 50  # among which the end of a fork's last process is
_REFUSALS = (failures.CLOSED, failures.HANDSHAKE_FAILED, failures.THREAD_LOST, failures.THREAD_MISMATCH)
_MOST_EVENTS = 20_000  # among which the end of a turn is
_INTRODUCTION = (
    f"{PREFACE} Take it as what was said between us so far; the tools that were used there are only named. My next "
    "message stands behind it."
)


def prepare_fork(
    store: Store,
    source: LiveSession,
    catalogue: Catalogue,
    now: datetime,
    at_turn: str = "",
    runtime_id: str = "",
    title: str = "",
) -> tuple[LiveSession, str, tuple[str, ...]]:
    """Return the session to begin, how its past comes to it, and what of it does not. Raises RequestRefused.

    at_turn: the last turn, or the last entry, to take over, by the beginning of its id; empty: all up to where the
    session goes on. runtime_id: another runtime; empty: the same.
    """
    runtime = catalogue.find(runtime_id or source.runtime_id)
    if runtime is None:
        name = runtime_id or source.runtime_id
        raise RuntimeUnknown(f"there is no runtime {name!r}: `agents runtime list` lists them")
    is_other = runtime.id != source.runtime_id or bool(why_elsewhere(source, runtime))
    point = _find_point(store, source, at_turn or find_moved_leaf(store, source) or "")
    last = point.turn
    cut = _find_cut(store, source, point)
    is_named = driver_of(runtime.kind).names_turns
    has_begun = live_sessions.has_begun(store, source.session_id, are_named=is_named) or source.opening.is_recorded
    missing = _why_not_native(source, point, cut, has_turns=has_begun, is_other=is_other)
    past = source.opening.past  # of a fork that has not begun yet
    if point.end is not None:
        past = pasts.read(store, point.end, is_end=point.is_end, turn=point.turn)
    opening = replace(
        source.opening,
        capabilities=None,
        fork_of="",
        fork_at="",
        fork_turn="",
        preface="",
        past=past,
        branches=(),
        is_recorded=False,
    )
    if is_other:  # its model and its arguments are another CLI's
        opening = replace(opening, model=runtime.model, effort=runtime.effort, args=runtime.args, own_args=())
    if missing:
        unsaid = source.opening.preface  # of a fork that has not begun yet
        opening = replace(
            opening,
            preface=unsaid or make_preface(store, point.end),
            past=past and replace(past, entries=(), labels={}),
        )
        why = describe_preface(missing)
        losses = _list_losses(source, runtime, is_other=is_other)
    else:
        fork_turn = "" if last is None else last.turn_id
        fork_at = "" if point.is_end else cut
        preface = _write_preface(point.summary)
        part = source.native_id or ""
        if fork_at and point.place is not None:
            part = point.place.session_id  # it may lie in a branch of before
        opening = replace(opening, fork_of=part, fork_at=fork_at, fork_turn=fork_turn, preface=preface)
        why, losses = "by the CLI itself", ()
    session = LiveSession(
        session_id=str(uuid.uuid4()),
        workspace=source.workspace,
        runtime_id=runtime.id,
        runtime_kind=runtime.kind,
        model_name=source.model_name,
        created_at=now,
        updated_at=now,
        account=runtime.account or None,
        opening=opening,
        title=title or (f"fork of {source.title}" if source.title else ""),
        forked_from=source.session_id,
    )
    return session, why, losses


def prepare_branch(store: Store, session: LiveSession, entry_id: str, now: datetime) -> LiveSession:
    """Have the next process of a session begin behind one of its entries; return the session as it is then.

    All that was said is stored as entries before. Its CLI begins a session of its own there: by a fork where it can,
    else with what was said up to there as a preface.
    """
    point = _find_point(store, session, entry_id) if entry_id else _Point(None, None)
    cut = _find_cut(store, session, point)
    missing = _why_not_native(session, replace(point, is_end=False), cut, has_turns=True, is_other=False)
    native_id = session.native_id or ""
    kept = tuple(branch for branch in session.opening.branches if branch.native_id != native_id)
    branch = Branch(native_id, entry_id, live_events.last_number(store, session.session_id), to_text(now))
    changes: dict[str, object] = {"branches": (*kept, branch), "fork_of": "", "fork_at": "", "fork_turn": ""}
    if missing:
        changes |= {"preface": make_preface(store, point.end) if entry_id else ""}
    else:
        part = native_id if point.place is None else point.place.session_id  # it may lie in a branch of before
        fork_turn = "" if point.turn is None else point.turn.turn_id
        preface = _write_preface(point.summary)
        changes |= {"fork_of": part, "fork_at": cut, "fork_turn": fork_turn, "preface": preface}
    return replace(session, opening=live_sessions.change_opening(store, session.session_id, now, **changes))


def leave_branch(store: Store, session: LiveSession, now: datetime) -> LiveSession:
    """Have a session go on at its end again, where nothing was said since a person went back; return it."""
    kept = tuple(branch for branch in session.opening.branches if branch.native_id != session.native_id)
    opening = live_sessions.change_opening(
        store, session.session_id, now, branches=kept, fork_of="", fork_at="", fork_turn="", preface=""
    )
    return replace(session, opening=opening)


def find_refusal(store: Store, session: LiveSession) -> str:
    """Return why the CLI could not make a fork by itself; empty: it could, has not tried, or may be able to later.

    Claude has no turn any more that it has compacted, and says so when it is to fork there.
    """
    is_named = driver_of(session.runtime_kind).names_turns
    is_tried = bool(session.opening.fork_of) and session.generation > 0
    has_begun = not session.is_branching and live_sessions.has_begun(store, session.session_id, are_named=is_named)
    if not is_tried or has_begun:
        return ""
    reason, why = "", ""
    for numbered in live_events.before(store, session.session_id, None, _LAST_EVENTS):
        match numbered.event:
            case ev.SessionOpened():
                reason = ""
            case ev.SessionFailed(reason=reason, message=why):
                pass
            case ev.SessionClosed(message=why):
                pass
    return f"its CLI could not: {why}" if reason in _REFUSALS else ""


def give_preface(store: Store, session: LiveSession, now: datetime) -> LiveSession:
    """Have a fork that the CLI refuses begin with what was said; returns it as it is then."""
    source = session
    if not session.is_branching:
        source = live_sessions.find(store, session.forked_from or "")[0]
    live_entries.enter(store, source.session_id)
    turns = live_sessions.turns_of(store, source.session_id)
    options = session.opening
    last = next((turn for turn in turns if turn.turn_id == options.fork_turn), None)
    if last is not None:
        place = _find_end_of(store, turns, last)
    else:  # behind an answer
        sessions = {(account, options.fork_of) for account in _accounts_of(store, source)}
        place = next(iter(find_beginning_with(store, sessions, options.fork_at)), None)
    preface = make_preface(store, place) + options.preface  # with the summary of a branch that was left
    past = options.past and replace(options.past, entries=(), labels={})  # its tree has the rest from its origin
    opening = live_sessions.change_opening(
        store, session.session_id, now, fork_of="", fork_at="", fork_turn="", preface=preface, past=past
    )
    return replace(session, opening=opening)


def describe_preface(why: str) -> str:
    """Say how the past comes to a fork that the CLI does not make."""
    return f"with what was said as a preface, since {why}"


def _list_losses(source: LiveSession, runtime: Runtime, *, is_other: bool) -> tuple[str, ...]:
    """Return what a preface does not carry."""
    lost = [*PREFACE_LOSSES]
    if is_other:
        options = source.opening
        lost += [f"the model {options.model}"] if options.model not in ("", runtime.model) else []
        lost += [f"the effort {options.effort}"] if options.effort not in ("", runtime.effort) else []
        lost += [f"the account {source.account}"] if source.account not in (None, runtime.account) else []
    return tuple(lost)


def make_preface(store: Store, place: EntryPlace | None) -> str:
    """Return what was said up to an entry, for an agent that has not heard it. place: None: nothing was."""
    lines: list[str] = []
    length = 0
    summary = ""
    for entry in () if place is None else read_context_back(store, place):
        if entry.kind == COMPACTION and find_kept(entry.body) is not None:
            summary = f"Summary of what was said first:\n{text_of(entry.body)}\n\n"
        said = tuple(_write_entry(entry))
        lines += reversed(said)
        length += sum(map(len, said))
        if length > PREFACE_LIMIT:
            break
    text = "\n\n".join(reversed(lines))
    if len(text) > PREFACE_LIMIT:
        text = f"[the beginning is left out]\n\n{text[-PREFACE_LIMIT:]}"
    return f"{_INTRODUCTION}\n\n<session>\n{summary}{text}{PREFACE_END}"


def _write_preface(summary: str) -> str:
    """Return what an agent is told of branches that were left, where it has heard the rest; empty: of none."""
    return summary and f"{_INTRODUCTION}\n\n<session>\nSummary of a branch that was left:\n{summary}{PREFACE_END}"


def read_messages(store: Store, session: LiveSession) -> tuple[str, tuple[Message, ...]]:
    """Return what was said up to a session's end as `read_messages_to` does."""
    live_entries.enter(store, session.session_id)
    end = find_end(store, session)
    return ("", ()) if end is None else read_messages_to(store, end)


def read_messages_to(store: Store, end: EntryPlace, without: Collection[str] = ()) -> tuple[str, tuple[Message, ...]]:
    """Return the summary of the last compaction, empty where there was none, and what was said since, oldest first.

    without: entries that do not count.
    """
    summary = ""
    messages: list[Message] = []
    for entry in read_context_back(store, end):
        if entry.entry_id in without:
            continue
        if entry.kind == COMPACTION and find_kept(entry.body) is not None:
            summary = text_of(entry.body)
        said = redact("\n\n".join(text for _, text in _read_speech(entry)))
        if said:
            messages.append(Message(entry.entry_id, entry.role, said, guess_tokens(text_of(entry.body))))
    return redact(summary), tuple(reversed(messages))


class ContextSize(Record):
    """About how many tokens a session's next turn begins with."""

    tokens: int = 0
    entry_id: str = ""  # up to which they are counted


def guess_context(store: Store, session: LiveSession, known: ContextSize) -> ContextSize:
    """Return how long a session's context is. known: an earlier answer; only what was said since is read."""
    live_entries.enter(store, session.session_id)
    end = find_end(store, session)
    tokens = 0
    for entry in () if end is None else read_context_back(store, end):
        if entry.entry_id == known.entry_id:
            tokens += known.tokens
            break
        if entry.kind == COMPACTION or any(_read_speech(entry)):
            tokens += guess_tokens(text_of(entry.body))
    return ContextSize(tokens, "" if end is None else end.entry_id)


def _write_entry(entry: Entry) -> Iterator[str]:
    for speaker, text in _read_speech(entry):
        yield f"{speaker}:\n{text}" if speaker else text


def _read_speech(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield who has said what; nobody has said what a tool was given."""
    from oulipoly_engine.core.transcripts import claude, codex  # noqa: PLC0415 - 5 ms, only a preface needs them

    for passage in passages(entry.body) if entry.kind in SPEAKING else ():
        match passage.kind, entry.role:
            case "text", "user" if passage.text.startswith((*claude.NOT_TYPED, *codex.NOT_TYPED)):
                pass
            case "text" | "context", "user":
                yield "User", passage.text
            case "text", "branch_summary":
                yield "Summary of a branch that was left", passage.text
            case "text", _:
                yield "Agent", passage.text
            case "tool_use", _:
                yield "", f"[tool: {first_line(passage.text)}]"
            case _:
                pass


class _Point(Record):
    """Where a fork leaves its source."""

    place: EntryPlace | None  # the last entry to take over that its CLI may know; None: there is none
    turn: Turn | None  # that ends there; None: none does
    is_end: bool = False  # all is taken over
    own: EntryPlace | None = None  # an entry of ours behind it; None: there is none
    summary: str = ""  # of the branches that were left behind it

    @property
    def end(self) -> EntryPlace | None:
        """Return the last entry to take over."""
        return self.own or self.place


def find_end(store: Store, session: LiveSession) -> EntryPlace | None:
    """Return the entry that a session goes on behind; None: nothing of it is stored."""
    for account in sorted(_accounts_of(store, session)):
        leaf = leaves.find_leaf(store, account, session.native_id or "")
        if leaf:
            return EntryPlace(account, session.native_id or "", leaf)
    return None


def find_moved_leaf(store: Store, session: LiveSession) -> str | None:
    """Return the entry that a person went back to, or a summary of ours at the end; None: its CLI knows the end."""
    for account in sorted(_accounts_of(store, session)):
        leaf = leaves.find_moved(store, account, session.native_id or "")
        if leaf is not None:
            return leaf
    end = find_end(store, session)
    if end is None or not end.is_live:  # the way there need not be read
        return None
    last = next((entry for entry in read_back(store, end) if entry.kind not in CHANGES), None)
    is_ours = last is not None and (last.kind == BRANCH_SUMMARY or bool(find_first_kept(last.body)))
    return last.entry_id if last is not None and is_ours else None


def _accounts_of(store: Store, session: LiveSession) -> set[str]:
    return {session.account or session.runtime_id, *entries.find_accounts(store, session.native_id or "")}


def _find_point(store: Store, source: LiveSession, at: str) -> _Point:
    """Return where a fork is to leave. at: the beginning of the id of a turn or of an entry. Raises TurnNotFound."""
    live_entries.enter(store, source.session_id)
    end = find_end(store, source)
    turns = live_sessions.turns_of(store, source.session_id)
    if not at:
        return _Point(end, turns[-1] if turns else None, is_end=True)
    chosen = [turn for turn in turns if turn.turn_id.startswith(at)]
    if len(chosen) == 1:
        return _Point(_find_end_of(store, turns, chosen[0]), chosen[0])
    sessions = find_sessions_of_turns(store, [turn.turn_id for turn in turns])
    sessions.update((account, source.native_id or "") for account in _accounts_of(store, source))
    parts = [part for each, mine in sessions for part in find_parts(store, each, mine)]  # a branch is one for its CLI
    sessions.update((part.account, part.session_id) for part in parts)
    sessions.update([(each, owner) for each, mine in sessions for owner, _ in read_history(store, each, mine)])
    places = () if chosen else find_beginning_with(store, sessions, at)
    if len(places) != 1:
        known = "more than one turn or message" if chosen or places else "no turn"
        raise TurnNotFound(
            f"the session has {known} {at!r}: `agents session status`, `follow` and `show --json` name its turns and "
            "messages"
        )
    point = _pass_own(store, sessions, places[0])
    place = point.place
    turn = next((turn for turn in turns if place is not None and turn.turn_id == place.turn_id), None)
    if place is None or turn is None:
        return replace(point, is_end=place is not None and end is not None and end.entry_id == place.entry_id)
    last = find_last_of_turn(store, turn.turn_id)
    is_last = last is not None and last.entry_id == place.entry_id
    return replace(point, turn=turn) if is_last else point


def _pass_own(store: Store, sessions: Collection[tuple[str, str]], place: EntryPlace) -> _Point:
    """Return an entry as a point: of our own entries its CLI knows nothing, only of what is before them."""
    own: list[Entry] = []
    before = None
    for entry in read_back(store, place) if place.is_live else ():
        if entry.kind not in OWN_KINDS:
            before = entry
            break
        own.insert(0, entry)
    if not own:
        return _Point(place, None)
    places = () if before is None else find_beginning_with(store, sessions, before.entry_id)
    summaries = (text_of(entry.body) for entry in own if entry.kind == BRANCH_SUMMARY)
    return _Point(next(iter(places), None), None, own=place, summary="\n\n".join(summaries))


def _find_end_of(store: Store, turns: Sequence[Turn], last: Turn) -> EntryPlace | None:
    """Return the last entry up to a turn's end."""
    taken = reversed(turns[: turns.index(last) + 1])
    places = (find_last_of_turn(store, turn.turn_id) for turn in taken)
    return next((place for place in places if place is not None), None)


def _find_cut(store: Store, source: LiveSession, point: _Point) -> str:
    """Return where the CLI can cut, in its own terms: behind a turn, or an answer; empty: it cannot there."""
    turn = point.turn
    if turn is None:
        return _find_answer(source, point.place)
    for numbered in reversed(live_events.before(store, source.session_id, None, _MOST_EVENTS)):
        if isinstance(numbered.event, ev.TurnEnded) and numbered.event.turn_id == turn.turn_id:
            return numbered.event.fork_at or turn.native_turn_id or ""
    return turn.native_turn_id or ""


def _find_answer(source: LiveSession, place: EntryPlace | None) -> str:
    """Return an answer's id where the CLI cuts at answers and has it by that id; empty: it does not."""
    if place is None or place.is_live or place.role != "assistant":
        return ""
    return place.entry_id if driver_of(source.runtime_kind).cuts_at_answers else ""


def _why_not_native(source: LiveSession, point: _Point, cut: str, *, has_turns: bool, is_other: bool) -> str:
    """Say why the CLI cannot fork by itself; empty: it can."""
    able = source.opening.capabilities or ()
    if is_other:
        return "it goes on in another runtime"
    if source.status == "fenced":
        return "its own session is lost"
    if not has_turns or source.native_id is None:
        return "it has no turn yet"
    if "fork" not in able:
        return "its CLI cannot fork"
    if point.is_end:
        return ""
    if point.turn is None and not cut:
        return "its CLI forks at the end of a turn only"
    if "fork_at_turn" not in able or not cut:
        return "its CLI forks at the end only"
    return ""
