"""Sessions for screen readers: numbered, ten at a time, each whole by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.sessions import Session, Sort, fits, sort_sessions
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.transcripts.dialogue import Kind
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.paths import expand_user
from oulipoly_tui.view.sessions.columns import short_age
from oulipoly_tui.view.sessions.sessions import badges, title_of

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Board
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_AT_ONCE = 10
_ENTRIES = 10
_READ = "Read the last turns"


def open_list(talk: Talk, snapshot: Snapshot) -> None:
    """Ask for a query, list what fits, and let one be chosen."""
    sessions = talk.engine.sessions
    if not talk.read_only:
        new = sessions.scans.read_new()
        talk.say(f"{new} new turns were read.")
    text = talk.ask("Words and fields that must fit, empty for all")
    query, board = sessions.catalogue.query(text), sessions.catalogue.board()
    found = sort_sessions((one.session for one in board.rows if fits(query, one.session, one.kind)), Sort.USED)
    talk.say(f"{len(found)} session{'s' * (len(found) != 1)}.")
    for start in range(0, len(found), _AT_ONCE):
        page = found[start : start + _AT_ONCE]
        names = [f"{line(one, board, snapshot)}" for one in page]
        more = ["More"] if start + _AT_ONCE < len(found) else []
        chosen = talk.choose_place("Session", [*names, *more])
        if chosen is None:
            return
        if chosen < len(page):
            _open(talk, page[chosen])
            return


def line(one: Session, board: Board, snapshot: Snapshot) -> str:
    """Return a session in a line."""
    listed = board.of_chain(one.chain_id)
    now = snapshot.at.astimezone()
    told = ", ".join(text for text, _ in badges(listed, board, now)) if listed is not None else ""
    place = plain(one.workspace or "workspace unknown")
    age = short_age(one.last_used_at, now)
    return f"{title_of(one)}. Account {one.active.account}. In {place}. {age}." + (f" {told}." if told else "")


def unbundle(talk: Talk, _snapshot: Snapshot) -> None:
    """Check a bundle, say what it would do, and unpack it after a yes."""
    path = talk.ask("Bundle to unpack")
    if not path:
        return
    sessions, source = talk.engine.sessions, expand_user(path)
    wanted = talk.ask("Folder in which it goes on, empty for where it was")
    folder = expand_user(wanted) if wanted else None
    plan = sessions.bundles.plan(source, folder=folder)
    files = f"{plan.files} file{'s' * (plan.files != 1)}"
    known = " A session here has it already." if plan.was_known else ""
    talk.say(f"Session {plan.session_id}. Account {plan.account}. In {plan.folder}. {files}.{known}")
    for text in plan.warnings:
        talk.say(f"Warning. {text}.")
    if talk.confirm("Unpack it?"):
        talk.say(f"Unpacked on {sessions.bundles.unpack(source, folder=folder).account}.")


def archive_all(talk: Talk, _snapshot: Snapshot) -> None:
    """Keep copies of everything."""
    done = talk.engine.sessions.archive.keep_all()
    talk.say(f"Archive. {done.kept} of {done.looked_at} files kept anew.")


def _open(talk: Talk, one: Session) -> None:
    actions = {_READ: _read} if talk.read_only else _ACTIONS
    label = talk.choose(title_of(one), list(actions))
    if label is not None:
        actions[label](talk, one)


def _resume(talk: Talk, one: Session, *, is_fork: bool = False) -> None:
    from oulipoly_tui.linear.interactive import open_cli  # noqa: PLC0415 - 100 ms, only who talks to a CLI

    open_cli(talk, session=one.active.session_id, is_fork=is_fork)


def _fork(talk: Talk, one: Session) -> None:
    _resume(talk, one, is_fork=True)


def _name(talk: Talk, one: Session) -> None:
    talk.engine.sessions.notes.rename(one.chain_id, talk.ask("Name, empty takes it away"))
    talk.say("Done.")


def _note(talk: Talk, one: Session) -> None:
    talk.engine.sessions.notes.annotate(one.chain_id, talk.ask("Note, empty takes it away"))
    talk.say("Done.")


def _pin(talk: Talk, one: Session) -> None:
    talk.engine.sessions.notes.pin([one.chain_id], on=one.pinned_at is None)
    talk.say("Pinned." if one.pinned_at is None else "No longer pinned.")


def _archive(talk: Talk, one: Session) -> None:
    talk.say(f"{talk.engine.sessions.archive.keep([one.chain_id])}.")


def _restore(talk: Talk, one: Session) -> None:
    talk.say(f"{talk.engine.sessions.archive.restore(one.chain_id).sentence}.")


def _export(talk: Talk, one: Session) -> None:
    files = talk.engine.sessions.files
    done = talk.ask_until("File", lambda path: files.export(one.chain_id, ExportOptions(), expand_user(path)))
    if done is not None:
        talk.say(f"{done.path}. {done.size_bytes} bytes.")


def _bundle(talk: Talk, one: Session) -> None:
    bundles = talk.engine.sessions.bundles
    done = talk.ask_until("File", lambda path: bundles.pack(one.chain_id, expand_user(path)))
    if done is not None:
        missing = f" Missing: {', '.join(done.missing)}." if done.missing else ""
        talk.say(f"{done.path}. {done.size_bytes} bytes.{missing}")


def _undo(talk: Talk, one: Session) -> None:
    sessions = talk.engine.sessions
    plan = sessions.edits.plan_undo(one.chain_id)
    if talk.confirm(f"{len(plan.changes)} turns would be put back. Do it?"):
        sessions.edits.undo(one.chain_id)
        talk.say("Put back as it was.")


def _move(talk: Talk, one: Session) -> None:
    sessions = talk.engine.sessions
    account = talk.choose("Account", sessions.moves.targets(one))
    if account is not None and talk.confirm(f"{sessions.moves.preview(one.chain_id, account)}. Do it?"):
        talk.say(f"Moved to {sessions.moves.move(one.chain_id, account).plan.target}.")


def _read(talk: Talk, one: Session) -> None:
    part = one.active
    pages = talk.engine.sessions.transcripts.open(part.account, part.session_id, part.transcript)
    try:
        for placed in pages.page(max(0, len(pages) - _ENTRIES), _ENTRIES, redacting=True):
            if placed.entry is None:
                continue
            for piece in placed.entry.parts:
                name = placed.entry.role if piece.kind is Kind.TEXT else f"{piece.kind.value} {piece.label}".strip()
                text = piece.text if piece.kind is Kind.TEXT else piece.text[:200]
                talk.quote(f"{plain(name)}: {plain(text)}")
    finally:
        pages.close()


_ACTIONS: Mapping[str, Callable[[Talk, Session], None]] = {
    _READ: _read,
    "Go on with it": _resume,
    "Fork it: go on in a new session": _fork,
    "Name it": _name,
    "Note": _note,
    "Pin or unpin": _pin,
    "Archive": _archive,
    "Put the archive's copy back": _restore,
    "Export as Markdown": _export,
    "Bundle it for another machine": _bundle,
    "Move": _move,
    "Undo": _undo,
}
