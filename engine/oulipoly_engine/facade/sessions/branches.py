"""The tree of a session: its entries with all branches, the leaf, labels, and two branches beside each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live.orders import Close
from oulipoly_engine.core.sessions.compaction import Plan
from oulipoly_engine.core.sessions.resolve import OF_FILES
from oulipoly_engine.core.sessions.tree_lines import (
    MOST_MATCHES,
    Comparison,
    TreeEntry,
    TreeLayout,
    compare,
    find_ids,
    format_line,
    path_to,
    short_id,
)
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.core.transcripts.entry_tree import EntryColumns, find_parents, put_before
from oulipoly_engine.core.transcripts.turn_script import BRANCH_SUMMARY, LIVE_IDS, NO_PARENT
from oulipoly_engine.errors import RequestRefused, SessionNotFound, TurnNotFound, UsageInvalid
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.catalogue import catalogue, describe
from oulipoly_engine.facade.sessions.transcripts import SessionTranscripts
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.records import Record, asdict, field, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import read_messages_to
from oulipoly_engine.service.live.hosts import OrderRefused
from oulipoly_engine.service.live.protocol import Client
from oulipoly_engine.service.sessions.locate import find_typed
from oulipoly_engine.service.sessions.tree_entries import (
    TreeEntries,
    choose_kept,
    find_calls_with,
    find_said_on,
    leave_notes,
    read_all,
    read_kept,
)
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_entries, live_sessions, own_entries
from oulipoly_engine.store.live.pasts import list_waiting
from oulipoly_engine.store.sessions import forks, labels, notes
from oulipoly_engine.store.sessions.forks import ForkedSession
from oulipoly_engine.store.sessions.leaves import find_leaf, move_to
from oulipoly_engine.store.sessions.sessions import find_latest, list_sessions
from oulipoly_engine.store.transcripts.entry_columns import find_parting, list_with, read_columns
from oulipoly_engine.store.transcripts.entry_pages import Entry, by_row, has_entry
from oulipoly_engine.store.transcripts.entry_paths import EntryPlace

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.resolve import ResolvedSession
    from oulipoly_engine.service.sessions.session_copies import Imported

OF_KINDS = ("no-tools", "user")  # filters that look into bodies
FILTERS = ("default", "no-tools", "user", "labelled", "all")
_LONGEST_LABEL = 60  # characters
_WENT_BACK = "it goes on behind an earlier message, which `session tree` shows"
_HOST_PATIENCE_S = 5.0  # with a live session's host, which may be stopped


class SessionTree(Record):
    """A session with all its branches."""

    chain_id: str
    session_id: str  # its CLI's own
    leaf: str | None  # the entry that it goes on behind; None: nothing was said yet
    layout: TreeLayout = TreeLayout((), ())
    entries: Sequence[TreeEntry] = ()  # by the layout's rows, read when they are looked at
    columns: EntryColumns = EntryColumns((), (), ())  # of all entries that were read, whatever the filter
    is_part: bool = False  # there are more entries
    origin: ForkedSession | None = None  # the session that it is a fork of
    forks: tuple[ForkedSession, ...] = ()  # sessions that are forks of it
    of_origin: Collection[str] = ()  # the ids of entries that its origin alone has
    places: Sequence[tuple[str, str]] = ()  # accounts and sessions in which its entries lie, but for histories
    kept_rows: dict[str, Sequence[int]] = field(default_factory=dict)  # of filters by kinds that were asked

    @property
    def entry_ids(self) -> Sequence[str]:
        """Return the ids, depth first, each behind its parent."""
        return self.layout.ids

    @property
    def parents(self) -> Mapping[str, str]:
        """Return the parent of each entry that has one."""
        return self.layout.parent_ids

    def find(self, entry_ids: Iterable[str]) -> list[TreeEntry]:
        """Return some of its entries, in the order of their ids."""
        return [self.entries[self.layout.rows[entry_id]] for entry_id in entry_ids]


class SessionBranches(SessionPart):
    """The trees of one user's sessions."""

    def find_latest(self) -> str:
        """Return the id of the session that was used last. Raises SessionNotFound."""
        chain_id = None
        if self._home.paths.state_db.exists():
            with self._open_existing("") as store:
                chain_id = find_latest(store)
        if chain_id is None:
            raise SessionNotFound(
                "no session is known yet: `agents session scan` finds those that the CLIs have stored"
            )
        return chain_id

    def tree(  # noqa: PLR0913, RUF100 - each face wants its part of it
        self,
        text: str,
        kept: str = "default",
        last: int = -1,
        known: SessionTree | None = None,
        *,
        with_forks: bool = False,
    ) -> SessionTree:
        """Return a session's tree. kept: one of FILTERS; what hangs below an entry that is left out hangs higher.

        last: only so many of its latest entries, as far as they hang together. known: the same tree with any filter;
        of its entries nothing is read anew then. Raises SessionNotFound, SessionAmbiguous and UsageInvalid.
        """
        if kept not in FILTERS:
            raise UsageInvalid(f"there is no filter {kept!r}: {', '.join(FILTERS)}")
        with self._session_or_fork(text) as (store, session, way):
            if known is None:  # a fork by reference is described before its history can be read
                self._home.write_along(store, lambda: describe(catalogue(self._home, store), 0.0), 0)
            place = store, session.account, session.session_id
            if known is None:
                columns = leave_notes(read_columns(*place, last), partial(by_row, store))
                is_part = len(columns.ids) == last
                if way is not None:
                    before = leave_notes(way.columns, partial(by_row, store))
                    columns = put_before(before, way.end, columns)
                layout = TreeLayout(columns.ids, find_parents(columns))
            else:
                columns = known.columns
                layout = known.layout
                is_part = known.is_part
            names = labels.of_chain(store, session.chain_id)
            leaf = find_leaf(*place) or None
            places = [place[1:]]
            if way is not None:
                names = {**way.labels, **names}
                leaf = leaf or way.end
                places += way.places
            kept_rows = known.kept_rows if known else {}
            chosen = choose_kept(columns, names, kept, leaf, lambda: read_kept(store, places, kept, kept_rows))
            origin: ForkedSession | None = None
            forks_of_it: tuple[ForkedSession, ...] = ()
            if with_forks:
                origin, forks_of_it = _read_forks(store, session)
                if way is not None:
                    origin = ForkedSession(way.origin_id, *way.places[-1], way.end)
        if chosen is not None or known is not None:
            layout = layout.keep(chosen)
        entries = TreeEntries(layout, columns, names, self._read)
        ids = session.chain_id, session.session_id
        tree = SessionTree(*ids, leaf, layout, entries, columns, is_part, origin, forks_of_it)
        of_origin = () if way is None else frozenset(way.columns.ids)
        return replace(tree, of_origin=of_origin, places=places, kept_rows=kept_rows)

    def prepare_filters(self, tree: SessionTree) -> None:
        """Read what the filters by kinds keep, so that none waits for it: of 100,000 entries a tenth of a second."""
        with self._home.lend_store_to_read() as store:
            for kept in OF_KINDS:
                read_kept(store, tree.places, kept, tree.kept_rows)

    def _read(self, rows: Sequence[int]) -> tuple[Entry, ...]:
        with self._home.lend_store_to_read() as store:
            return by_row(store, rows)

    def _meant(self, text: str, entry: str) -> tuple[SessionTree, str]:
        """Return a session's tree and the entry that a person means; of a whole id, or none, only what leads to it."""
        with self._session(text) as (store, session):
            if not entry or has_entry(store, session.account, session.session_id, entry):
                leaf = find_leaf(store, session.account, session.session_id) or None
                return SessionTree(session.chain_id, session.session_id, leaf), entry or NO_PARENT
        tree = self.tree(text, "all")
        entry_id = choose(tree, entry)
        if entry_id in tree.of_origin:
            raise RequestRefused(
                f"{short_id(entry_id)} was said in the session that this one is a fork of: `agents session fork` there "
                "goes on behind it"
            )
        return tree, entry_id

    def read_left(self, text: str, entry: str) -> tuple[SessionTree, str, Plan]:
        """Return a session's tree, the id of an entry, and what only the leaf's branch has if it goes on behind that.

        Arguments and errors as of `branch`.
        """
        SessionTranscripts(self._home).glance()
        tree = self.tree(text, "all")
        entry_id = choose(tree, entry) if entry else NO_PARENT
        with self._session(text) as (store, session):
            end = EntryPlace(session.account, session.session_id, tree.leaf or "")
            summary, messages = read_messages_to(store, end, path_to(entry_id, tree.parents))
        return tree, entry_id, Plan(summary, messages, (), 0)

    def branch(
        self, text: str, entry: str, sum_up: Callable[[SessionTree, Plan], str] | None = None
    ) -> tuple[SessionTree, str]:
        """Have a session go on behind an entry, all that was said stays; return the tree, and the leaf's id.

        entry: the beginning of its id; empty: before all of them, so that it begins anew. sum_up: returns the summary
        of what is left, which is the leaf then; whatever it raises, nothing is changed.
        Raises TurnNotFound, RequestRefused while a turn runs, and as `tree`.
        """
        self._home.refuse_if_read_only("branch a session")
        tree, entry_id = self._meant(text, entry)
        self._home.extensions.guard_recorded("before_tree", tree.chain_id, entry=entry_id)
        heard = [*self.tree(text, "all").entries] if entry_id.startswith(LIVE_IDS) else []
        with self._home.lend_store() as store:
            self._end_processes(store, tree.chain_id)
            # What its CLI has written by now would move the leaf to the end when it is read afterwards.
            SessionTranscripts(self._home).glance()
            if heard:
                entry_id = _find_again(entry_id, heard, self.tree(text, "all").entries)
            summary = ""
            if sum_up is not None:
                tree, _, plan = self.read_left(text, entry_id)
                summary = sum_up(tree, plan) if plan.hidden else ""
                self._end_processes(store, tree.chain_id)
                SessionTranscripts(self._home).glance()  # the model has taken its time
            with store.write():
                if summary:
                    self._refuse_moved(store, tree)
                    now = self._home.now()
                    entry_id = own_entries.add(store, tree.chain_id, BRANCH_SUMMARY, summary, now, entry_id)
                move_to(store, tree.chain_id, entry_id)
        self._tell()
        return tree, entry_id

    def _end_processes(self, store: Store, chain_id: str) -> None:
        for live in live_sessions.find(store, chain_id):
            self.end_process(live.session_id)
            live_entries.enter(store, live.session_id)

    def _refuse_moved(self, store: Store, tree: SessionTree) -> None:
        """Raise RequestRefused where a session has gone on since it was read."""
        session = find_typed(store, tree.chain_id, self._home.now())
        if find_leaf(store, session.account, session.session_id) != tree.leaf:
            raise RequestRefused("the session has gone on while a model summed up: nothing was changed, try again")

    def fork_file(self, text: str, entry: str = "", name: str = "") -> Imported | None:
        """Take a part of an imported session in as one of its own: from a root to an entry, to the leaf without one.

        None: the session was not imported. Raises TurnNotFound, RequestRefused where nothing was said, and as `tree`.
        """
        from oulipoly_engine.service.sessions import session_copies  # noqa: PLC0415 - few sessions are imported

        with suppress(SessionNotFound), self._session(text) as (_, session):
            if session.account != OF_FILES:
                return None
            self._home.refuse_if_read_only("fork a session")
            tree, entry_id = self._meant(text, entry)
            self._home.extensions.guard_recorded("before_fork", tree.chain_id, entry=entry_id)
            if not (entry_id or tree.leaf):
                raise RequestRefused("nothing was said yet in this session: there is nothing to fork")
            longest_line = self._home.wiring.longest_line()
            now = self._home.now()
            with self._home.lend_store() as store:
                (source,) = list_sessions(store, (tree.chain_id,))
                end = entry_id or tree.leaf or ""
                forked = session_copies.fork_file(store, source, end, self._copies, longest_line, now)
                if name:
                    notes.rename(store, forked.chain_id, name, now)
            self._tell()
            return forked
        return None

    def end_process(self, session_id: str) -> None:
        """End a live session's process, which knows what was said to the end. Raises RequestRefused while a turn runs.

        The next message starts one that goes on behind the leaf.
        """
        try:
            with hosts.connect(self._home.paths, session_id, Client("agents")) as client:
                client.order(Close(if_idle=True, why=_WENT_BACK), _HOST_PATIENCE_S)
        except OrderRefused as error:
            raise RequestRefused(Need.NO_TURN) from error
        except (HostUnreachable, HostGone):
            pass
        hosts.wait_for_end(self._home.paths, session_id)

    def label(self, text: str, entry: str, label: str) -> str:
        """Give an entry a label, an empty one takes it away; return the entry's id. Raises as `branch`."""
        self._home.refuse_if_read_only("label a message")
        name = plain(label).strip()
        if len(name) > _LONGEST_LABEL:
            raise UsageInvalid(f"a label may have {_LONGEST_LABEL} characters, not {len(name)}")
        tree, entry_id = self._meant(text, entry)
        with self._home.lend_store() as store:
            labels.put(store, tree.chain_id, entry_id, name, self._home.now())
        self._tell()
        return entry_id

    def compare(self, text: str, left: str, right: str) -> tuple[SessionTree, Comparison]:
        """Return what the ways to two entries share, and what each has alone; right: empty is the leaf.

        Raises as `branch`.
        """
        tree = self.tree(text, "all")
        other = choose(tree, right or tree.leaf or "")
        return tree, compare(choose(tree, left), other, tree.parents)

    def find(self, text: str, words: str) -> frozenset[str]:
        """Return the ids of the entries of all branches that have some words, in any case; secrets are not found.

        Of very many the latest MOST_MATCHES. The name of an account finds what was said on it, where others spoke too.
        Raises SessionNotFound and SessionAmbiguous.
        """
        wanted = words.casefold()
        said: set[str] = set()
        with self._session(text) as (store, session):
            names = labels.of_chain(store, session.chain_id)
            for entry in read_all(store, list_with(store, session.account, session.session_id, words)):
                body = text_of(entry.body)
                if wanted in body.casefold() and wanted in redact(body).casefold():
                    said.add(entry.entry_id)
                if len(said) == MOST_MATCHES:
                    break
            said |= find_said_on(store, session.chain_id, wanted)
            said |= set(islice(find_calls_with(store, session, wanted), MOST_MATCHES))
        return frozenset(said | {entry_id for entry_id, name in names.items() if wanted in name.casefold()})


NO_TREE: Mapping[str, object] = {  # what every face tells where there is no session, by the keys of `to_json`
    **dict.fromkeys(("session_id", "chain_id", "leaf", "forked_from")),
    "forks": (),
    "entries": (),
}


def to_json(tree: SessionTree) -> dict[str, object]:
    """Return what every face tells of a tree by the same keys."""
    entries = [
        {
            "id": entry.entry_id,
            "parent_id": entry.parent_id,
            "kind": entry.kind,
            "role": entry.role,
            "depth": depth,
            "preview": entry.preview,
            "label": entry.label or None,
            "timestamp": entry.at,
            "is_sidechain": entry.is_sidechain,
        }
        for entry, depth in zip(tree.entries, tree.layout.depths, strict=True)
    ]
    head = {"session_id": tree.session_id, "chain_id": tree.chain_id, "leaf": tree.leaf}
    origin = None if tree.origin is None else asdict(tree.origin)
    return {**head, "forked_from": origin, "forks": [asdict(fork) for fork in tree.forks], "entries": entries}


def fork_lines(tree: SessionTree) -> Iterator[str]:
    """Yield a line for the session that a tree is a fork of, and one for each fork of it."""
    sessions = [("fork", fork) for fork in tree.forks]
    if tree.origin is not None:
        sessions.insert(0, ("forked from", tree.origin))
    for verb, fork in sessions:
        behind = "" if fork.entry_id is None else f", behind {short_id(fork.entry_id)}"
        yield f"{verb} {fork.session_id[:8]}{behind}"


def branch_json(tree: SessionTree, leaf: str, summary: str = "") -> dict[str, object]:
    """Return what every face tells of a branch. tree: as it was before."""
    ids = {"session_id": tree.session_id, "chain_id": tree.chain_id}
    return {**ids, "leaf": leaf or None, "former_leaf": tree.leaf, "summary": summary or None}


def refuse_summary_of_files(summary: str | None, restore: str, files_from: str = "") -> None:
    """Raise UsageInvalid where both a summary and files are asked for."""
    if summary is not None and (restore != "chat" or files_from):
        raise UsageInvalid("a summary is of the chat: restore the files before, by `--restore files`")


def describe_branch(leaf: str, summary: str) -> tuple[str, ...]:
    """Say in lines where a session goes on, and what came of the wish for a summary."""
    what = "what was left, summed up:" if summary else "nothing was left that could be summed up"
    return f"goes on behind {short_id(leaf)}; {what}", *summary.splitlines()


def comparison_json(tree: SessionTree, comparison: Comparison) -> dict[str, object]:
    """Return what every face tells of two branches."""
    alone = {}
    for side, entry_ids in (("left", comparison.left), ("right", comparison.right)):
        of_side = tree.find(entry_ids)
        alone[side] = [{"id": entry.entry_id, "role": entry.role, "preview": entry.preview} for entry in of_side]
    return {"session_id": tree.session_id, "shared": [*comparison.shared], **alone}


def compare_lines(tree: SessionTree, comparison: Comparison) -> Iterator[str]:
    """Yield two branches as lines: how much both have, then what each has alone."""
    count = len(comparison.shared)
    yield "1 message is in both" if count == 1 else f"{count} messages are in both"
    for sign, entry_ids in (("<", comparison.left), (">", comparison.right)):
        for entry in tree.find(entry_ids):
            yield format_line(entry.behind(f"{sign} "), is_leaf=entry.entry_id == tree.leaf)


def _read_forks(store: Store, session: ResolvedSession) -> tuple[ForkedSession | None, tuple[ForkedSession, ...]]:
    """Return the session that one is a fork of, and those that are forks of it."""
    own = ForkedSession(session.chain_id, session.account, session.session_id)
    of_it = forks.list_forks(store, session.chain_id)
    parted = tuple(replace(fork, entry_id=find_parting(store, fork, own)) for fork in of_it)
    origin = forks.find_origin(store, session.account, session.session_id, session.chain_id)
    if origin is not None:
        origin = replace(origin, entry_id=find_parting(store, own, origin))
    return origin, (*parted, *list_waiting(store, session.chain_id))


def choose(tree: SessionTree, text: str) -> str:
    """Return the id of the entry that a person means. Raises TurnNotFound."""
    meant = find_ids(tree.entry_ids, text)
    if len(meant) == 1:
        return meant[0]
    known = "more than one message" if meant else "no message"
    raise TurnNotFound(f"the session has {known} {text!r}: `agents session tree {tree.chain_id[:8]}` names them")


def _find_again(entry_id: str, heard: Sequence[TreeEntry], entries: Sequence[TreeEntry]) -> str:
    """Return the id of an entry that was heard live as it is now: its transcript has given it another one.

    heard: the session as it was before. Raises TurnNotFound.
    """
    if any(entry.entry_id == entry_id for entry in entries):
        return entry_id
    meant = next(entry for entry in heard if entry.entry_id == entry_id)
    alike, now_alike = (
        [entry.entry_id for entry in each if (entry.role, entry.preview) == (meant.role, meant.preview)]
        for each in (heard, entries)
    )
    if len(alike) == len(now_alike):
        return now_alike[alike.index(entry_id)]
    raise TurnNotFound("the session has just been read anew, and that message has another id: look at its tree again")
