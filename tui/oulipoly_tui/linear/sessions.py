"""Sessions for screen readers: numbered, ten at a time, each whole by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.sessions.sessions import Session, Sort
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.dialogue import Kind
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.paths import expand_user
from oulipoly_tui.linear import custom
from oulipoly_tui.view import row_values, words
from oulipoly_tui.view.sessions.groups import Grouping, groups
from oulipoly_tui.view.sessions.sessions import badges, title_of
from oulipoly_tui.view.transcript.transcript import Target

if TYPE_CHECKING:
    from pathlib import Path

    from oulipoly_engine.core.sessions.tree_lines import TreeEntry
    from oulipoly_engine.facade.configuration import CustomCommand
    from oulipoly_engine.facade.sessions.branches import SessionTree
    from oulipoly_engine.facade.sessions.sessions import Sessions
    from oulipoly_engine.facade.sessions.types import Board, Hit
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.linear.talk import Talk

_HITS, _WIDTH = 20, 160  # turns, and characters of each
_LEVEL = 3  # signs of a tree's lines for each branch that an entry lies in
_LABEL = "Label it"
_FILES = {"Restore chat and files": True, "Restore files alone": False}  # whether the chat goes back as well
_QUERY = "Type words that are all needed, a phrase in quotes, begin*, -not, or fields such as account:NAME."
_ENTRIES = 10


def open_list(talk: Talk, snapshot: Snapshot) -> None:
    """Ask for a query, list what fits, and let one be chosen."""
    sessions = talk.engine.sessions
    if not talk.read_only:
        new = sessions.scans.read_new()
        talk.say(f"{new} new turns were read.")
    text = talk.ask("Words and fields that must fit, empty for all")
    query = sessions.catalogue.query(text)
    board = sessions.catalogue.board()
    fitting = groups(board, query, Sort.USED, Grouping.NONE, snapshot.at)
    found = [listed.session for group in fitting for listed in group.members]
    talk.say(f"{len(found)} session{'s' * (len(found) != 1)}.")
    one = talk.choose_of_many("Session", found, lambda session: line(session, board, snapshot))
    if one is not None:
        _open(talk, one, board)


def search(talk: Talk, snapshot: Snapshot) -> None:
    """Ask for words, say the turns that have them, the newest first, and let the session of one be chosen."""
    sessions = talk.engine.sessions
    if not talk.read_only:
        sessions.scans.read_new()
    text = talk.ask("Words that were said", _QUERY).strip()
    if not text:
        return
    query = sessions.catalogue.query(text)
    hits = sessions.catalogue.search_all(query, _HITS, width=_WIDTH, as_is=talk.read_only).found.hits
    hit = talk.choose_of("Session", hits, lambda hit: _format_hit(hit, snapshot), "Nothing was found.")
    if hit is not None and hit.session is not None:
        _open(talk, hit.session, sessions.catalogue.board())


def _format_hit(hit: Hit, snapshot: Snapshot) -> str:
    title = "no session" if hit.session is None else sentence(title_of(hit.session))
    age = words.age(from_text(hit.timestamp), snapshot.at)
    return f"{title} {hit.role}, account {hit.account}, {age}: {plain(redact(hit.snippet.text))}"


def line(one: Session, board: Board, snapshot: Snapshot) -> str:
    """Return a session in a line."""
    listed = board.of_chain(one.chain_id)
    now = snapshot.at.astimezone()
    told = ", ".join(text for text, _ in badges(listed, board, now)) if listed is not None else ""
    place = plain(one.workspace or "workspace unknown")
    age = words.age(from_text(one.last_used_at), now)
    told = f" {told[0].upper()}{told[1:]}." if told else ""
    return f"{sentence(title_of(one))} Account {one.active.account}. In {place}. Used {age}.{told}"


def sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends a sentence by itself."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def unbundle(talk: Talk, _snapshot: Snapshot) -> None:
    """Check a bundle, say what it would do, and unpack it after a yes."""
    sessions = talk.engine.sessions
    source = talk.ask_until("Bundle to unpack", lambda path: _look_at(sessions, expand_user(path)))
    if source is None:
        return
    wanted = talk.ask("Folder in which it goes on, empty for where it was").strip()
    folder = expand_user(wanted) if wanted else None
    plan = sessions.bundles.plan(source, folder=folder)
    files = f"{plan.files} file{'s' * (plan.files != 1)}"
    known = " A session here has it already." if plan.was_known else ""
    talk.say(f"Session {plan.session_id}. Account {plan.account}. In {plan.folder}. {files}.{known}")
    for text in plan.warnings:
        talk.say(f"Warning. {text}.")
    if talk.confirm("Unpack it?"):
        talk.say(f"Unpacked on {sessions.bundles.unpack(source, folder=folder).account}.")


def _look_at(sessions: Sessions, source: Path) -> Path:
    sessions.bundles.plan(source)  # raises what is wrong with it
    return source


def archive_all(talk: Talk, _snapshot: Snapshot) -> None:
    """Keep copies of everything."""
    done = talk.engine.sessions.archive.keep_all()
    talk.say(f"Archive. {done.kept} of {done.looked_at} files kept anew.")


def _open(talk: Talk, one: Session, board: Board) -> None:
    if not one.active.session_id:
        talk.say("Nothing was said in it yet. Live sessions has it.")
        return
    missing = "session unpin" if one.pinned_at is None else "session pin"
    actions = {
        _NAMES.get(name) or find(name).menu_line: order
        for name, order in _ORDERS.items()
        if name != missing and not (talk.read_only and find(name).writes)
    }
    listed = None if talk.read_only else board.of_chain(one.chain_id)
    if listed is not None:  # their names may be those of actions of ours, which they would hide
        part = one.active
        target = Target(one.chain_id, part.account, part.session_id, part.transcript, title_of(one))
        values = row_values.of_session(listed, target)
        for command in custom.list_commands(talk, values, "sessions", "transcript"):
            actions[f"{command.name}, your command"] = partial(_run_own, command, values)
    label = talk.choose(title_of(one), list(actions))
    if label is not None:
        actions[label](talk, one)


def _run_own(command: CustomCommand, values: Mapping[str, str], talk: Talk, _one: Session) -> None:
    custom.run(talk, command, values)


def _say_ids(talk: Talk, one: Session) -> None:
    part = one.active
    talk.quote(f"Session {one.chain_id}. The CLI's own id {part.session_id}.")
    talk.quote(f"Transcript {part.transcript or 'unknown'}.")
    talk.quote(f"Resume it in a shell: agents repl --resume {one.chain_id}")


def _resume(talk: Talk, one: Session, *, is_fork: bool = False) -> None:
    from oulipoly_tui.linear.interactive import open_cli  # noqa: PLC0415 - 100 ms, only who talks to a CLI

    open_cli(talk, session=one.active.session_id, is_fork=is_fork)


def _fork(talk: Talk, one: Session) -> None:
    _resume(talk, one, is_fork=True)


def _import(talk: Talk, one: Session) -> None:
    edits = talk.engine.sessions.edits
    wish = talk.ask_until("File to import", lambda path: edits.read_import(one.chain_id, expand_user(path)))
    if wish is not None:
        count = len(wish.plan.changes)
        if talk.confirm(f"{count} turn{'s' * (count != 1)} would be replaced. Do it?"):
            edits.carry_out(wish)
            talk.say("Session replaced. Its menu has Undo.")


def _name(talk: Talk, one: Session) -> None:
    _tell(talk, "Name", lambda text: talk.engine.sessions.notes.rename(one.chain_id, text))


def _note(talk: Talk, one: Session) -> None:
    _tell(talk, "Note", lambda text: talk.engine.sessions.notes.annotate(one.chain_id, text))


def _tell(talk: Talk, what: str, save: Callable[[str], object]) -> None:
    text = talk.ask(f"{what}, empty leaves it, a dash takes it away").strip()
    if text:
        save("" if text == "-" else text)
        talk.say("Taken away." if text == "-" else "Saved.")


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
                is_said = piece.kind is Kind.TEXT  # code in it is read line by line
                text = "\n".join(map(plain, piece.text.split("\n"))) if is_said else plain(piece.text[:200])
                talk.quote(f"{plain(name)}: {text}")
    finally:
        pages.close()


def _list_artifacts(talk: Talk, one: Session) -> None:
    from oulipoly_tui.linear.artifacts import open_list as open_artifacts  # noqa: PLC0415 - few sessions have any

    open_artifacts(talk, one)


def _open_tree(talk: Talk, session: Session) -> None:
    """List the messages of all branches, ten at a time; chat or files go back to the chosen one, or it is labelled."""
    branches = talk.engine.sessions.branches
    tree = branches.tree(session.chain_id)
    talk.say(f"{len(tree.entries)} message{'s' * (len(tree.entries) != 1)} in all branches.")
    entry = talk.choose_of_many("Message", tree.entries, partial(_format_entry, tree))
    if entry is None or talk.read_only:
        return
    order = talk.choose(entry.preview, ("Go on behind it", *_FILES, _LABEL))
    if order == _LABEL:
        _tell(talk, "Label", partial(branches.label, tree.chain_id, entry.entry_id))
    elif order in _FILES:
        _restore_files(talk, tree.chain_id, entry.entry_id, with_chat=_FILES[order])
    elif order is not None and talk.confirm("The session goes on behind this message; all that was said stays. Do it?"):
        branches.branch(tree.chain_id, entry.entry_id)
        talk.say("It goes on there.")


def _restore_files(talk: Talk, chain_id: str, entry_id: str, *, with_chat: bool) -> None:
    from oulipoly_engine.facade.worktrees.turn_files import plan_lines  # noqa: PLC0415 - git, for who goes back

    files = talk.engine.turn_files
    plan = files.preview(chain_id, entry_id)
    for text in plan_lines(plan):
        talk.quote(text)
    talk.say("What is there now is kept first.")
    if talk.confirm("Restore them?"):
        # What has changed since it was said is kept, and comes back by the same command.
        done = files.restore(chain_id, entry_id, plan.reference, with_chat=with_chat, agree=lambda _: True)
        way_back = f"The files are as they were. This leads back: {plain(done.way_back)}"
        talk.quote(way_back if done.way_back else "No file was to be changed.")


def _format_entry(tree: SessionTree, entry: TreeEntry) -> str:
    level = len(entry.prefix) // _LEVEL
    begin = f"Branch of level {level}. " if level else ""
    label = f" Label {entry.label}." if entry.label else ""
    leaf = " The session goes on here." if entry.entry_id == tree.leaf else ""
    return f"{begin}{entry.role or entry.kind}: {entry.preview}{label}{leaf}"


_ORDERS: Mapping[str, Callable[[Talk, Session], None]] = {  # commands of the table
    "session show": _read,
    "session tree": _open_tree,
    "session locate": _say_ids,
    "session artifacts": _list_artifacts,
    "session resume": _resume,
    "session fork": _fork,
    "session name": _name,
    "session note": _note,
    "session pin": _pin,
    "session unpin": _pin,
    "session archive": _archive,
    "session restore": _restore,
    "session export": _export,
    "session bundle": _bundle,
    "session import-replace": _import,
    "session move": _move,
    "session undo": _undo,
}
_NAMES = {"session show": "Read the last turns", "session export": "Export as Markdown"}  # where it is less
