"""Files that travel with a session's branch: what going back to a message does to the checkout, and doing it.

    what is there now is kept -> the operation is noted -> files, each at once -> the leaf -> the operation is ended

A kill between two steps leaves each file old or new. The same order finishes it, and what was kept first leads back;
whoever starts next says so.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.sessions.turn_files import find_reference
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.transcripts.entry_tree import parent_ids
from oulipoly_engine.core.transcripts.turn_script import NO_PARENT
from oulipoly_engine.core.worktrees.changes import TurnPreview
from oulipoly_engine.core.worktrees.refusals import FileMissing, GitUnavailable
from oulipoly_engine.errors import Declined, RequestRefused, RunnerError, UsageInvalid, translate_system_errors
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.branches import SessionBranches, SessionTree, branch_json, choose
from oulipoly_engine.facade.worktrees.changes import Changes
from oulipoly_engine.records import Record, asdict
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.operations.operations import begin
from oulipoly_engine.service.worktrees.base.place import Checkout, find_place, open_checkout
from oulipoly_engine.service.worktrees.base.repository import hold_session
from oulipoly_engine.service.worktrees.snapshot.references import TURN, reference_time
from oulipoly_engine.service.worktrees.snapshot.turns import RESTORE, preview_turn, restore_turn, take_turn
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions, turn_files
from oulipoly_engine.store.operations import operations
from oulipoly_engine.store.transcripts.entry_pages import links

_NAMED = 10  # files of a kind in lines


class FilePlan(Record):
    """Where a session would go back to, and what that would do to its files."""

    tree: SessionTree
    session_id: str  # ours, of the live session
    entry_id: str  # NO_PARENT: before all messages
    reference: str
    preview: TurnPreview
    is_inside: bool = False  # of a turn: the files are those from before it


class Restored(Record):
    """What going back has done."""

    plan: FilePlan
    before: str  # the snapshot of what was there; empty: no file was to be changed
    way_back: str  # a command; empty: the same


class TurnFiles(SessionPart):
    """The snapshots of one user's sessions."""

    def __init__(self, home: Home, changes: Changes, branches: SessionBranches) -> None:
        super().__init__(home)
        self._changes = changes
        self._branches = branches

    @translate_system_errors()
    def preview(self, text: str, entry: str, files_from: str = "") -> FilePlan:
        """Return what bringing back the files of a message would do.

        entry: the beginning of its id; empty: before all. files_from: the name of a snapshot instead of the message's.
        Raises FileMissing where there is none, GitUnavailable, TurnNotFound, and as `SessionBranches.tree`.
        """
        tree = self._branches.tree(text, "all")
        entry_id = choose(tree, entry) if entry else NO_PARENT
        with self._home.lend_store_to_read() as store:
            session_id = _find_session(store, tree.chain_id).session_id
        is_inside = False
        if files_from:
            reference = _expand(files_from, session_id)
        else:
            reference, is_inside = self._find_reference(tree, entry_id)
        preview = preview_turn(self._changes.open_checkout(session_id), reference)
        return FilePlan(tree, session_id, entry_id, reference, preview, is_inside)

    @translate_system_errors()
    def restore(
        self,
        text: str,
        entry: str,
        files_from: str = "",
        *,
        with_chat: bool,
        agree: Callable[[FilePlan], bool] = lambda plan: not plan.preview.unsaved,
    ) -> Restored:
        """Bring the files of a message back, and have the session go on behind it where that is wanted.

        agree: is asked before the first step. Raises Declined where it says no, RequestRefused while a turn of the
        session, or of another one in the same checkout, runs, and as `preview`.
        """
        self._home.refuse_if_read_only("restore files")
        plan = self.preview(text, entry, files_from)
        if not agree(plan):
            names = ", ".join(plan.preview.unsaved)
            raise Declined(
                f"nothing was changed, for changes of these files are in no snapshot of a turn: {names}; `--yes`, in a "
                "request `overwrite`, keeps them in one and goes on"
            )
        session_id = plan.session_id
        now = self._home.now()
        with self._home.lend_store() as store:
            own = {session.session_id for session in live_sessions.find(store, plan.tree.chain_id)}
            for each in own:
                self._branches.end_process(each)
            with hold_session(self._home.wiring.worktree_resources(store), session_id):
                if not all(hosts.wait_for_end(self._home.paths, each) for each in own):
                    raise TurnInFlight("the session's process has not ended, or was started again: try again")
                checkout = self._changes.open_checkout(session_id, "restore files")
                self._refuse_others(store, own, checkout)
                before = take_turn(checkout, f"before-{reference_time(now)}", now).reference
                way_back = _way_back(plan, before, with_chat=with_chat)
                for cut in operations.find(store, "begun", (RESTORE,), session_id):
                    operations.end(store, cut.operation_id, "fail", now)
                operation = begin(store, self._home.clock, RESTORE, session_id, way_back=way_back)
                try:
                    done = restore_turn(checkout, plan.reference, now)
                    if with_chat:
                        self._branches.branch(plan.tree.chain_id, plan.entry_id)
                except RunnerError as error:
                    operations.end(store, operation.operation_id, "fail", self._home.now())
                    raise RequestRefused(f"{error.message}; what was done so far is undone by `{way_back}`") from error
                operations.end(store, operation.operation_id, "finish", self._home.now())
        if done.before is None:
            return Restored(plan, "", "")
        return Restored(plan, before, way_back)

    def _find_reference(self, tree: SessionTree, entry_id: str) -> tuple[str, bool]:
        with self._session(tree.chain_id) as (store, session):
            placed = links(store, session.account, session.session_id)
            turns = turn_files.find_turns(store, [link.row_id for link in placed])
            references = turn_files.find_references(store, {*turns.values()})
        ids = [link.entry_id for link in placed if not link.is_sidechain]
        reference, is_inside = find_reference(entry_id, ids, parent_ids(placed), turns, references)
        if reference is None:
            raise FileMissing("no snapshot has the files as they were at this message: only the chat can go back there")
        return reference, is_inside

    def _refuse_others(self, store: Store, own: Collection[str], checkout: Checkout) -> None:
        living = {host.session_id for host in hosts.survey(self._home.paths)}.difference(own)
        working = [turn.session_id for turn in live_sessions.open_turns(store, living)] if living else ()
        for session in live_sessions.read_sessions(store, working):
            with suppress(GitUnavailable):
                place = find_place(store, session.session_id, session.workspace)
                if open_checkout(place).root == checkout.root:
                    raise TurnInFlight(
                        f"session {session.session_id} works in {checkout.root} as well: wait for the end of its turn, "
                        f"or `agents session interrupt {session.session_id[:8]}`"
                    )


def plan_json(plan: FilePlan) -> dict[str, object]:
    """Return what every face tells of what going back would do."""
    preview = plan.preview
    return {
        "session_id": plan.tree.session_id,
        "chain_id": plan.tree.chain_id,
        "entry_id": plan.entry_id or None,
        "files_from": plan.reference,
        **{name: [*names] for name, names in asdict(preview.changes).items()},
        "unsaved": [*preview.unsaved],
        "left_out": {name: [*names] for name, names in asdict(preview.left_out).items()},
    }


def plan_lines(plan: FilePlan) -> Iterator[str]:
    """Yield what going back would do to files as lines for people."""
    changes = plan.preview.changes
    left_out = plan.preview.left_out
    if not changes.touched and not changes.coming:
        yield "no file would change"
    if plan.is_inside:
        yield "the message is inside of a turn: the files are those from before it"
    unsaved = {*plan.preview.unsaved}
    for word, names in (("changes", changes.changing), ("goes", changes.going), ("comes", changes.coming)):
        yield from (f"{word:<8}{plain(name)}{' (in no snapshot)' * (name in unsaved)}" for name in names)
    for word, names in (
        ("stays, for it is in no snapshot", changes.staying),
        ("not included, for git ignores it", left_out.ignored),
        ("not included, a repository of its own", left_out.repositories),
        ("not included, too large", left_out.large),
        ("not included, unreadable", left_out.unfit),
    ):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            yield f"{word}: {', '.join(map(plain, names[:_NAMED]))}{more}"


def restored_json(restored: Restored, *, with_chat: bool) -> dict[str, object]:
    """Return what every face tells once files were brought back."""
    plan = restored.plan
    document = plan_json(plan)
    if with_chat:
        document |= branch_json(plan.tree, plan.entry_id)
    return {**document, "before": restored.before or None, "way_back": restored.way_back or None}


def _find_session(store: Store, chain_id: str) -> LiveSession:
    """Return the live session of which the files are. Raises RequestRefused."""
    sessions = live_sessions.find(store, chain_id)
    if not sessions:
        raise FileMissing("the session was never live, so that no snapshot has its files: only the chat can go back")
    return max(sessions, key=lambda session: session.updated_at)


def _expand(name: str, session_id: str) -> str:
    """Return the reference that a person means by its last part, or by all of it. Raises UsageInvalid."""
    reference = name if name.startswith(f"{TURN}/") else f"{TURN}/{session_id}/{name}"
    if name.startswith("-") or reference.count("/") != TURN.count("/") + 2:
        raise UsageInvalid(f"{name!r} is not the name of a snapshot: `git for-each-ref {TURN}` lists them")
    return reference


def _way_back(plan: FilePlan, before: str, *, with_chat: bool) -> str:
    leaf = plan.tree.leaf if with_chat else None
    words = ("agents", "session", "branch", plan.tree.chain_id, leaf or plan.entry_id or plan.tree.leaf or "")
    parts = "files" if leaf is None else "both"
    return shlex.join((*words, "--restore", parts, "--files-from", before.rpartition("/")[2]))
