"""A session as a session file that other tools read, and one of theirs as a session of ours."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.sessions.resolve import OF_FILES, UNKNOWN_MODEL
from oulipoly_engine.core.sessions.sessions import Session
from oulipoly_engine.core.sessions.tree import SessionTree, build
from oulipoly_engine.core.transcripts import entry_tree
from oulipoly_engine.core.transcripts.entry_text import Kept, find_kept, passages
from oulipoly_engine.core.transcripts.session_file import entry as kinds
from oulipoly_engine.core.transcripts.session_file.decode import CURRENT, read_file
from oulipoly_engine.core.transcripts.session_file.encode import encode, encode_for_pi, is_leaf_mark
from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.core.transcripts.turn_script import CHANGES, NO_PARENT, BodyChunk, EntryLine, encode_body
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.sessions import session_files
from oulipoly_engine.service.sessions.journal import write
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import chains, facts, labels, leaves, notes
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_pages import Entry, by_row, links

_PAGE = 500  # entries read at once
_PIECE = 1 << 20  # bytes
_OUTLINED = (kinds.LABEL, kinds.SESSION_INFO, kinds.CUSTOM)  # whose texts the tree needs
_CHUNKS = {"tool_result": "tool_result"}  # by roles; of others text
_ROLES = {"tool_result": "user"}  # as transcripts of claude have it


class Imported(Record):
    """What came of a file."""

    chain_id: str
    session_id: str  # the file's own
    version: int  # of the file
    entries: int
    new_entries: int
    leaf: str | None
    problems: tuple[str, ...]  # lines that hold no entry


def import_file(store: Store, path: Path, folder: Path, longest_line: int, now: datetime) -> Imported:
    """Take a session file of version 0 to 3 in as a session; again only what is new in it.

    folder: where a copy is kept, for what only the file itself holds.
    Raises RequestRefused for a file without a session, and as `session_files.read`.
    """
    own_id = _make_id(path)
    with session_files.open_twice(path, longest_line, own_id) as (source, read_again):
        file = read_file(read_again(), outline)
        header = file.header
        if file.is_nameless:
            header = replace(header, id=own_id)
        if not (file.is_usable or file.is_nameless) or not header.id or not file.entries:
            why = "; ".join(problem.sentence for problem in file.problems[:3]) or "it holds no entry"
            raise RequestRefused(
                f"{path} is not a session file: {why}; nothing was imported. The first line of one is such as "
                '{"type":"session","version":3,"id":"…"}, and each further line an entry'
            )
        tree = build(file.entries)
        make_folder(folder)
        source.seek(0)  # first: what stands in the state file can be written out again
        write(_copy_of(folder, header.id), iter(lambda: source.read(_PIECE), b""))
        lines = _lines(read_again(), header, tree)
        new, rest = _insert_all_but_last(store, lines, now)
    leaf_place = _above_marks(tree, tree.leaf)
    leaf = NO_PARENT if leaf_place is None else tree.entries[leaf_place].id
    times = [entry.at for entry in file.entries if entry.at] or [header.created_at or to_text(now)]
    origin = header.parent_session or ""
    if "/" in origin:  # pi names the parent by the path of its file, at whose end its id stands
        origin = Path(origin).stem.rpartition("_")[2]
    with store.write():
        new += entries.insert_new(store, OF_FILES, rest, now)
        chain_id = chains.chain_of(store, OF_FILES, header.id) or chains.insert(
            store,
            OF_FILES,
            header.id,
            UNKNOWN_MODEL,
            started_at=header.created_at or max(times),
            last_used_at=max(times),
            reason="imported",
        )
        facts.note_header(store, OF_FILES, header.id, min(times), header.cwd or None, origin)
        leaves.move_to(store, chain_id, leaf)
        for entry_id, label in tree.labels().items():
            labels.put(store, chain_id, entry_id, label, now)
        if tree.name() is not None:
            notes.rename(store, chain_id, tree.name(), now)
    problems = tuple(problem.sentence for problem in file.problems)
    return Imported(chain_id, header.id, header.version, len(file.entries), new, leaf or None, problems)


def _make_id(path: Path) -> str:
    """Return the id of a session whose file tells none: its name, which tells of nothing else than a UUID."""
    with suppress(ValueError):
        return str(uuid.UUID(path.stem))
    own = sha256(os.fsencode(path.resolve())).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_.]+', '-', path.stem)[:60].strip('-.')}-{own}".lstrip("-")


def outline(entry: SessionEntry) -> SessionEntry:
    """Return what the tree needs of an entry: a file may have more texts than there is memory."""
    return replace(entry, text=entry.text if entry.kind in _OUTLINED else "", record=None)


def _insert_all_but_last(store: Store, lines: Iterator[EntryLine], now: datetime) -> tuple[int, list[EntryLine]]:
    """Store entries page by page, so that others may write in between; return how many are new, and the last page.

    A session is listed once that is stored too. What a kill leaves of one, the next import of its file completes.
    """
    new = 0
    page = [*islice(lines, _PAGE)]
    while following := [*islice(lines, _PAGE)]:
        with store.write():
            new += entries.insert_new(store, OF_FILES, page, now)
        page = following
    return new, page


def _lines(file: Iterable[SessionEntry], header: Header, tree: SessionTree) -> Iterator[EntryLine]:
    for place, entry in zip(range(len(tree.entries)), file, strict=False):  # the file may grow meanwhile
        if is_leaf_mark(entry):
            continue
        parent = _above_marks(tree, tree.parents[place])
        role = entry.role if entry.kind == kinds.MESSAGE else entry.kind
        first_kept = entry.refers_to if entry.kind == kinds.COMPACTION else None
        chunks = [BodyChunk(_CHUNKS.get(role, "text"), entry.text, first_kept)] if entry.text else []
        if entry.tool_calls:
            chunks.append(BodyChunk("tool_use"))
        yield EntryLine(
            session_id=header.id,
            entry_id=entry.id,
            timestamp=entry.at or header.created_at or "1970-01-01T00:00:00.000000Z",
            role=_ROLES.get(role, role),
            parent_entry_id=NO_PARENT if parent is None else tree.entries[parent].id,
            is_compaction_boundary=entry.kind == kinds.COMPACTION,
            body=encode_body(chunks) if chunks else None,
            other_kind=entry.kind,
        )


def _above_marks(tree: SessionTree, place: int | None) -> int | None:
    """Return the place of an entry, or of what a mark of ours stands for, which is no entry of a session."""
    while place is not None and is_leaf_mark(tree.entries[place]):
        place = tree.parents[place]
    return place


def _copy_of(folder: Path, session_id: str) -> Path:
    name = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()  # an id may be no file's name
    return folder / f"{name}.jsonl"


def fork_file(
    store: Store, session: Session, entry_id: str, folder: Path, longest_line: int, now: datetime
) -> Imported:
    """Take a session's entries from a root to one of them in as a session of its own, with their ids and labels.

    folder: of the copies of what was imported. Raises TurnNotFound, and as `import_file`.
    """
    header, of_session = _read_all(store, session, folder, longest_line)
    tree = build(of_session)
    of_path = tree.path(entry_id)
    header = replace(header, id=str(uuid.uuid4()), created_at=to_text(now), parent_session=header.id)
    path = _copy_of(folder, header.id)
    make_folder(folder)
    write(path, encode(header, of_path))
    try:
        done = import_file(store, path, folder, longest_line, now)  # page by page: others write in between
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    names = labels.of_chain(store, session.chain_id)
    with store.write():
        for entry_id in names.keys() & {entry.id for entry in of_path}:
            labels.put(store, done.chain_id, entry_id, names[entry_id], now)
    return done


def write_file(store: Store, session: Session, folder: Path, longest_line: int, version: int) -> Iterator[bytes]:
    """Yield a session as the lines of a session file of version 2 or 3, with all its branches and labels.

    folder: of the copies of what was imported.
    """
    header, of_session = _read_all(store, session, folder, longest_line)
    if version == 2:
        return encode(header, without_changes(of_session))
    leaf = leaves.find_leaf(store, session.active.account, session.active.session_id) or None
    for entry in of_session:  # pi goes on behind the changes that follow on the leaf
        if _is_own_change(entry) and entry.parent_id == leaf:
            leaf = entry.id
    name = notes.of_chain(store, session.chain_id).name
    if name and name != build(of_session).name():
        of_session = (*of_session, SessionEntry("name", leaf, kinds.SESSION_INFO, text=name))
        leaf = "name"
    return encode_for_pi(header, build(of_session).without_rings(), leaf)


def _is_own_change(entry: SessionEntry) -> bool:
    return entry.kind in CHANGES and entry.record is None


def without_changes(of_session: Iterable[SessionEntry]) -> Iterator[SessionEntry]:
    """Yield entries without our own changes, which version 2 has no form for. of_session: parents first."""
    above: dict[str | None, str | None] = {}  # of each change what it follows on
    for entry in of_session:
        parent_id = above.get(entry.parent_id, entry.parent_id)
        if _is_own_change(entry):
            above[entry.id] = parent_id
        else:
            yield replace(entry, parent_id=parent_id)


def _read_all(
    store: Store, session: Session, folder: Path, longest_line: int
) -> tuple[Header, tuple[SessionEntry, ...]]:
    """Return a session as a file has it: what was imported as it was, and the labels as entries behind it."""
    account = session.active.account
    session_id = session.active.session_id
    names = labels.of_chain(store, session.chain_id)
    of_session = read_entries(store, session)
    begun_at = min((entry.at for entry in of_session if entry.at), default="")
    header = Header(session_id, CURRENT, begun_at, session.workspace or "")
    copy = _copy_of(folder, session_id)
    if account == OF_FILES and copy.exists():
        file = session_files.read(copy, longest_line, session_id)
        header = file.header
        of_file = {entry.id: entry for entry in file.entries}
        of_session = [of_file.get(entry.id, entry) for entry in of_session]
        known_names = build(file.entries).labels()
        names = {entry_id: name for entry_id, name in names.items() if known_names.get(entry_id) != name}
    known = {entry.id for entry in of_session}
    return header, (
        *of_session,
        *(
            SessionEntry(f"label:{entry_id}", entry_id, kinds.LABEL, text=name, refers_to=entry_id)
            for entry_id, name in names.items()
            if entry_id in known
        ),
    )


def read_entries(
    store: Store, session: Session, clean: Callable[[str], str] = str, without: Container[str] = ()
) -> list[SessionEntry]:
    """Return the entries of a session in order, those of sub-agents left out.

    clean: gives a text without secrets. without: ids of entries that are not asked for.
    """
    placed = links(store, session.active.account, session.active.session_id)
    parents = entry_tree.parent_ids(placed)
    rows = [link.row_id for link in placed if not link.is_sidechain and link.entry_id not in without]
    pages = (by_row(store, rows[begin : begin + _PAGE]) for begin in range(0, len(rows), _PAGE))
    return [_entry(row, parents.get(row.entry_id), clean) for page in pages for row in page]


def _entry(row: Entry, parent_id: str | None, clean: Callable[[str], str]) -> SessionEntry:
    parts = [replace(part, text=clean(part.text)) for part in passages(row.body)]
    text = "\n".join(part.text for part in parts)
    at = to_text(from_text(row.timestamp))
    if row.kind != kinds.MESSAGE:
        kept = find_kept(row.body) or Kept()
        first_kept = kept.first or next(iter(kept.ids), None)  # a CLI keeps the last messages
        refers_to = parent_id if row.kind == kinds.BRANCH_SUMMARY else first_kept
        return SessionEntry(row.entry_id, parent_id, row.kind, at=at, text=text, refers_to=refers_to)
    is_result = bool(parts) and all(part.kind == "tool_result" for part in parts)
    role = "tool_result" if is_result else row.role
    blocks = [_block(part.kind, part.text) for part in parts]
    message: dict[str, object] = {"role": role, "content": blocks}
    if is_result:
        message["tool_name"] = "tool"
    return SessionEntry(row.entry_id, parent_id, role=role, at=at, text=text, record={"message": message})


def _block(kind: str, text: str) -> dict[str, object]:
    if kind == "thinking":
        return {"type": kind, "thinking": text}
    return {"type": "text", "text": text if kind in ("text", "tool_result") else f"[{kind}] {text}"}
