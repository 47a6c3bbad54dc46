"""Sessions for screen readers: numbered, ten at a time, each whole by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.columns import plain
from oulipoly_engine.core.conversations import Conversation, Sort, fits, ordered
from oulipoly_engine.core.dialogue import Kind
from oulipoly_engine.engine_sessions import ExportWish
from oulipoly_tui.view.sessions import badges, short_age, title_of

if TYPE_CHECKING:
    from oulipoly_engine.engine import Snapshot
    from oulipoly_engine.engine_sessions import Board
    from oulipoly_tui.linear import Talk

_AT_ONCE = 10
_TURNS = 10
_DEEDS = ("Read the last turns", "Name it", "Note", "Pin or unpin", "Archive", "Export as Markdown", "Move", "Undo")


def open_list(talk: Talk, snapshot: Snapshot) -> None:
    """Ask for a query, list what fits, and let one be chosen."""
    sessions = talk.engine.sessions
    if not talk.read_only:
        new = sessions.scan()
        talk.say(f"{new} new turns were read.")
    text = talk.ask("Words and fields that must fit, empty for all")
    if text is None:
        return
    query, board = sessions.query(text), sessions.board()
    found = ordered((one.conversation for one in board.rows if fits(query, one.conversation, one.kind)), Sort.USED)
    talk.say(f"{len(found)} conversation{'s' * (len(found) != 1)}.")
    for start in range(0, len(found), _AT_ONCE):
        page = found[start : start + _AT_ONCE]
        names = [f"{line(one, board, snapshot)}" for one in page]
        more = ["More"] if start + _AT_ONCE < len(found) else []
        chosen = talk.choose("Conversation", [*names, *more])
        if chosen is None:
            return
        if chosen in names:
            _open(talk, page[names.index(chosen)])
            return


def line(one: Conversation, board: Board, snapshot: Snapshot) -> str:
    """Return a conversation in a line."""
    listed = board.of_chain(one.chain_id)
    now = snapshot.at.astimezone()
    told = ", ".join(text for text, _ in badges(listed, board, now)) if listed is not None else ""
    place = plain(one.workspace or "workspace unknown")
    age = short_age(one.last_used_at, now)
    return f"{title_of(one)}. Account {one.active.account}. In {place}. {age}." + (f" {told}." if told else "")


def _open(talk: Talk, one: Conversation) -> None:
    deeds = _DEEDS[:1] if talk.read_only else _DEEDS
    sessions = talk.engine.sessions
    match talk.choose(title_of(one), deeds):
        case "Read the last turns":
            _read(talk, one)
        case "Name it":
            sessions.rename(one.chain_id, talk.ask("Name, empty takes it away") or "")
            talk.say("Done.")
        case "Note":
            sessions.annotate(one.chain_id, talk.ask("Note, empty takes it away") or "")
            talk.say("Done.")
        case "Pin or unpin":
            sessions.pin([one.chain_id], on=one.pinned_at is None)
            talk.say("Pinned." if one.pinned_at is None else "No longer pinned.")
        case "Archive":
            talk.say(f"{sessions.archive([one.chain_id])}.")
        case "Export as Markdown":
            path = talk.ask("File")
            if path:
                done = sessions.export(one.chain_id, ExportWish(), Path(path).expanduser())
                talk.say(f"{done.path}. {done.size_bytes} bytes.")
        case "Move":
            _move(talk, one)
        case "Undo":
            plan = sessions.plan_undo(one.chain_id)
            if talk.ask(f"{len(plan.changes)} turns would be put back. Do it? y or n") in ("y", "yes"):
                sessions.undo(one.chain_id)
                talk.say("Put back as it was.")
        case _:
            pass


def _move(talk: Talk, one: Conversation) -> None:
    sessions = talk.engine.sessions
    account = talk.choose("Account", sessions.resume_accounts(one))
    if account is not None and talk.ask(f"{sessions.plan_move(one.chain_id, account)}. Do it? y or n") in ("y", "yes"):
        talk.say(f"Moved to {sessions.move(one.chain_id, account)}.")


def _read(talk: Talk, one: Conversation) -> None:
    part = one.active
    pages = talk.engine.sessions.open_transcript(part.account, part.session_id, part.transcript)
    try:
        for entry in pages.page(max(0, len(pages) - _TURNS), _TURNS, redacting=True):
            if entry.turn is None:
                continue
            for piece in entry.turn.parts:
                name = entry.turn.role if piece.kind is Kind.TEXT else f"{piece.kind.value} {piece.label}".strip()
                text = piece.text if piece.kind is Kind.TEXT else piece.text[:200]
                talk.say(f"{plain(name)}: {plain(text)}")
    finally:
        pages.close()
