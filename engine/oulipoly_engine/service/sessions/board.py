"""Every session with what a list says of it, read again only when something has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.accounts.storage_root import storage_root
from oulipoly_engine.core.sessions.facets import Facets
from oulipoly_engine.core.sessions.sessions import Session, Sort, sort_sessions
from oulipoly_engine.core.transcripts.entry_tree import EntryTree
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.sessions.catalogue import Catalogue, ListedSession, read_entry_tree
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.service.sessions.owner import claude_sessions, open_elsewhere
from oulipoly_engine.service.transcripts.files import own_folder
from oulipoly_engine.store.archive import copies
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.rewrite import replacements
from oulipoly_engine.store.runs import spawned
from oulipoly_engine.store.sessions import list_mark
from oulipoly_engine.store.sessions.list_mark import Mark
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts.entry_pages import by_row

Owner = tuple[str, str]  # (account, session id)


class Board(Record):
    """All sessions at one instant, in no order."""

    at: datetime
    rows: tuple[ListedSession, ...] = ()
    forkable: frozenset[str] = frozenset()  # accounts whose CLI can begin a session with another one's past
    kept: frozenset[Owner] = frozenset()  # whose transcript the archive has a copy of
    live: frozenset[Owner] = frozenset()  # that a CLI has open now
    failed: frozenset[Owner] = frozenset()  # whose last run failed
    replaced: frozenset[Owner] = frozenset()  # whose turns stand replaced; also by chain in the account's place
    facets: Mapping[str, Facets] = {}  # by chain; of the others nothing but `RECORDED` could be said
    undescribed: int = 0
    mark: Mark = ()
    home: str = ""  # what `~` stands for
    by_chain: Mapping[str, ListedSession] | None = None

    def of_chain(self, chain_id: str) -> ListedSession | None:
        """Return a session by its chain."""
        return None if self.by_chain is None else self.by_chain.get(chain_id)

    def is_replaced(self, one: Session) -> bool:
        """Tell whether a session's entries were replaced, so that there is something to take back."""
        session = one.active.session_id
        return bool({(one.active.account, session), (one.chain_id, session)} & self.replaced)


class Inside(Record):
    """What lies in one session: the tree of its entries, and the files of its sub-agents."""

    tree: EntryTree
    firsts: Mapping[int, tuple[str, str]] = field(default_factory=dict)  # row of a line's first entry -> id, instant
    side_files: tuple[tuple[str, Path], ...] = ()  # (name, file)


class Boards(Record):
    """Reads boards."""

    store: Store
    catalogue: Catalogue
    locator: Locator
    describing_s: float = 0.5  # how long to describe what is new, before it is listed

    def describe(self) -> int:
        """Describe what is new, for a moment, and return how many sessions are left undescribed."""
        return self.catalogue.refresh(self.describing_s)

    def read(self, now: datetime, before: Board | None, left: int = 0, *, looks: bool = False) -> Board:
        """Return the board of now; parts of the one before are kept where nothing has changed.

        left: how many sessions are left undescribed. looks: look at every transcript again: no mark tells that somebody
        has deleted one.
        """
        unrecorded = self.catalogue.list_unrecorded()
        mark = (*list_mark.mark(self.store), *unrecorded)
        live = frozenset(self.live())
        forkable = frozenset(
            name for name, one in self.locator.accounts.items() if one.resume is not None and one.resume.fork_args
        )
        replaced = replacements.find_undoable(self.store)
        failed = spawned.find_failed_sessions(self.store)
        if before is not None and before.mark == mark:
            rows = tuple(map(self._look_again, before.rows)) if looks else before.rows
        else:
            rows = self._rows(before, unrecorded)
        facets = self.catalogue.read_facets([row.session for row in rows], unrecorded, failed)
        told = (mark, live, left, forkable, failed, replaced, facets)
        is_same = before is not None and told == (
            before.mark,
            before.live,
            before.undescribed,
            before.forkable,
            before.failed,
            before.replaced,
            before.facets,
        )
        if before is not None and is_same and all(new is old for new, old in zip(rows, before.rows, strict=True)):
            return before
        kept = frozenset(
            (copy.account, copy.session_id) for copy in copies.transcripts(self.store) if copy.is_pruned is False
        )
        chains = {one.session.chain_id: one for one in rows}
        home = str(self.locator.home)
        return Board(
            now, rows, forkable, kept, live, failed, replaced, facets, left, mark=mark, home=home, by_chain=chains
        )

    def _look_again(self, old: ListedSession) -> ListedSession:
        new = self.catalogue.look(old.session)
        return old if new == old else new

    def _rows(self, before: Board | None, unrecorded: Iterable[Session]) -> tuple[ListedSession, ...]:
        """Return the rows; one that is as it was is the same object, so that whoever knows it keeps what he knows."""
        known = {} if before is None or before.by_chain is None else before.by_chain
        sessions = sort_sessions((*list_sessions(self.store), *unrecorded), Sort.USED)
        rows = map(self.catalogue.look, sessions)
        return tuple(old if (old := known.get(one.session.chain_id)) == one else one for one in rows)

    def live(self) -> Iterator[Owner]:
        """Yield the sessions that CLIs have open, by the marks that they leave."""
        for name, account in self.locator.accounts.items():
            root = storage_root(account, self.locator.home)
            kind = None if account.storage is None else account.storage.storage_type
            if root is None:
                continue
            with suppress(OSError):
                if kind is StorageType.CLAUDE_CODE:
                    yield from ((name, str(state.get("sessionId"))) for _, state in claude_sessions(root))
                elif kind is StorageType.CODEX_SESSION:
                    locks = sorted((root.parent / "thread-writer-locks").glob("*.lock"))
                    names = (path.stem for path in locks)
                    yield from ((name, one) for one in names if open_elsewhere(kind, root, one) is not None)

    def inside(self, account: str, session_id: str, transcript: str | None) -> Inside:
        """Return the tree of a session's entries and its sub-agents' files."""
        files = () if transcript is None else tuple(_side_files(Path(transcript)))
        tree = read_entry_tree(self.store, account, session_id)
        rows = by_row(self.store, [line.rows[0] for line in tree.lines])
        return Inside(tree, {entry.row_id: (entry.entry_id, entry.timestamp) for entry in rows}, files)


def _side_files(transcript: Path) -> Iterator[tuple[str, Path]]:
    with suppress(OSError):
        yield from (
            (Path(name).stem, path)
            for name, path in own_folder(transcript)
            if path.name.startswith("agent-") and path.suffix == ".jsonl"
        )
