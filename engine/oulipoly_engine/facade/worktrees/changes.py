"""The changes of sessions: looked at, staged, committed, merged, applied, pushed, and talked about.

Each method takes a session's id, or its beginning, first. Raises RequestRefused; the kinds are in
`core.worktrees.refusals`, each with the slug that tells faces what it is.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from oulipoly_engine.core.live.requests import TurnInFlight
from oulipoly_engine.core.worktrees.changes import (
    ChangeSet,
    Committed,
    Discarded,
    FileDiff,
    FileText,
    MergePreview,
    Moved,
    Preflight,
    Promoted,
    Written,
)
from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.prompts import Comment, comments_prompt
from oulipoly_engine.core.worktrees.refusals import GitUnavailable
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.errors import LiveSessionNotFound, RequestRefused, translate_system_errors
from oulipoly_engine.facade.base.home import Home, find_only
from oulipoly_engine.records import replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.operations.operations import recover
from oulipoly_engine.service.worktrees.base.place import Checkout, Place, find_place, open_checkout
from oulipoly_engine.service.worktrees.base.repository import PATIENCE_S, Resources
from oulipoly_engine.service.worktrees.changes import index, merging, push, texts
from oulipoly_engine.service.worktrees.changes.diffs import committed_files, file_diff, refuse_ignored
from oulipoly_engine.service.worktrees.changes.merge_plan import plan_merge
from oulipoly_engine.service.worktrees.changes.moves import KINDS, last_move, settlers
from oulipoly_engine.service.worktrees.changes.status import change_set
from oulipoly_engine.service.worktrees.snapshot import discarded
from oulipoly_engine.service.worktrees.unused import note_look
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.operations import operations
from oulipoly_engine.store.worktrees import worktrees


class Changes:
    """What sessions have changed in their folders."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._looks: dict[str, _Look] = {}  # by session

    # Looking ---------------------------------------------------------------------------------------------------------
    def status(self, identity: str, *, max_age_s: float = 0.0) -> ChangeSet:
        """Return what differs in a session's folder; `git_available` is False where that is not a git repository.

        max_age_s: an answer that is no older will do, whoever asked for it. Those who watch say 2, so that git looks
        once for all of them; after an order of this process git looks anew.
        """
        place = self._place(identity)[0]
        if max_age_s <= 0:
            return change_set(place)
        look = self._looks.setdefault(place.session_id, _Look())
        with look.lock:
            now = self._home.clock.monotonic()
            if look.found is None or now - look.at >= max_age_s:
                look.found, look.at = change_set(place), now
            return look.found

    @translate_system_errors()
    def diff(
        self, identity: str, path: str, side: str = "worktree", context: int = 3, *, shows_ignored: bool = True
    ) -> FileDiff:
        """Return how a file differs. side: `worktree`, `index` or `branch`. context: 0 to 20 lines.

        shows_ignored: also a file that git ignores; else that raises FileMissing.
        """
        checkout = self.open_checkout(identity)
        if side == "worktree" and not shows_ignored:
            refuse_ignored(checkout, path)
        return file_diff(checkout, path, side, context)

    @translate_system_errors()
    def committed(self, identity: str) -> tuple[ChangeEntry, ...]:
        """Return the files that a session's branch has changed since it began, as far as they are committed."""
        return committed_files(self.open_checkout(identity))

    @translate_system_errors()
    def read_file(self, identity: str, path: str, rev: str = "worktree", *, shows_ignored: bool = True) -> FileText:
        """Return a file as text. rev: `head`, `index` or `worktree`. shows_ignored: as `diff` has it."""
        checkout = self.open_checkout(identity)
        if rev == "worktree" and not shows_ignored:
            refuse_ignored(checkout, path)
        return texts.read_text(checkout, path, rev)

    # Files and index -------------------------------------------------------------------------------------------------
    @translate_system_errors()
    def write_file(
        self, identity: str, path: str, content: str, *, stage: bool = False, expected_etag: str | None = None
    ) -> Written:
        """Write a file of the worktree. expected_etag: of the file as it was read; None: whatever is there."""
        checkout = self.open_checkout(identity, "write a file")
        return texts.put_text(checkout, path, content, stage=stage, expected_etag=expected_etag)

    @translate_system_errors()
    def stage(self, identity: str, paths: Sequence[str] = ()) -> None:
        """Stage files; none is every file."""
        index.stage(self.open_checkout(identity, "stage files"), paths)

    @translate_system_errors()
    def unstage(self, identity: str, paths: Sequence[str] = ()) -> None:
        """Take files out of the index again; none is every file."""
        index.unstage(self.open_checkout(identity, "unstage files"), paths)

    @translate_system_errors()
    def discard(self, identity: str, paths: Sequence[str], side: str = "worktree") -> Discarded:
        """Throw changes of files away; the answer's `reference` keeps them for `undo_discard`."""
        return index.discard(self.open_checkout(identity, "discard changes"), paths, side, self._home.now())

    @translate_system_errors()
    def undo_discard(self, identity: str, reference: str = "") -> Discarded:
        """Put back what a discard threw away. reference: empty is the last one."""
        return discarded.undo(self.open_checkout(identity, "change files"), reference, self._home.now())

    @translate_system_errors()
    def stage_hunk(self, identity: str, path: str, digest: str, *, lines: Collection[int] | None = None) -> None:
        """Stage one hunk of `diff(side="worktree")`, or some of its lines, by their places in the hunk."""
        index.stage_hunk(self.open_checkout(identity, "stage a hunk"), path, digest, lines=lines)

    @translate_system_errors()
    def unstage_hunk(self, identity: str, path: str, digest: str, *, lines: Collection[int] | None = None) -> None:
        """Take one hunk of `diff(side="index")` out of the index."""
        index.unstage_hunk(self.open_checkout(identity, "unstage a hunk"), path, digest, lines=lines)

    @translate_system_errors()
    def discard_hunk(self, identity: str, path: str, digest: str, *, lines: Collection[int] | None = None) -> Discarded:
        """Throw one hunk of `diff(side="worktree")` away; the whole file is kept for `undo_discard`."""
        checkout = self.open_checkout(identity, "discard a hunk")
        return index.discard_hunk(checkout, path, digest, self._home.now(), lines=lines)

    def commit(self, identity: str, message: str, *, stages_all: bool = False) -> Committed:
        """Commit what is staged, with the repository's hooks. stages_all: every file is staged first."""
        return index.commit(self.open_checkout(identity, "commit"), message, stages_all=stages_all)

    # Branches --------------------------------------------------------------------------------------------------------
    def preview_merge(self, identity: str, into: str = "") -> MergePreview:
        """Return what a merge would do, conflicts included. into: empty is the branch that the session began at."""
        return plan_merge(self.open_checkout(identity), into).preview

    def merge(self, identity: str, into: str = "", message: str = "", *, committed_only: bool = False) -> Moved:
        """Merge a session's branch into another."""
        with self._moving(identity, "merge") as (resources, checkout):
            return merging.merge(resources, checkout, into, message, committed_only=committed_only)

    def rebase(self, identity: str, onto: str = "") -> Moved:
        """Put a session's commits on top of another branch."""
        with self._moving(identity, "rebase") as (resources, checkout):
            self._refuse_while_it_works(checkout, "its files change with a rebase")
            return merging.rebase(resources, checkout, onto)

    def preview_apply(self, identity: str) -> MergePreview:
        """Return what `apply` would do."""
        return merging.preview_apply(self.open_checkout(identity))

    def apply(self, identity: str, *, committed_only: bool = False) -> Moved:
        """Stage in the main checkout what a session has changed, committed or not, without a commit."""
        with self._moving(identity, "apply changes") as (resources, checkout):
            return merging.apply(resources, checkout, committed_only=committed_only)

    def undo_move(self, identity: str) -> Moved:
        """Take back the last merge, rebase or apply of a session."""
        with self._moving(identity, "undo a merge") as (resources, checkout):
            made = last_move(resources, checkout.place.session_id)
            if made is not None and made.kind == "rebase":
                self._refuse_while_it_works(checkout, "its files change with the undo of a rebase")
            return merging.undo_move(resources, checkout)

    # Remote repositories ---------------------------------------------------------------------------------------------
    def preflight(self, identity: str, branch: str = "") -> Preflight:
        """Return what `promote` would do, and what stands against it."""
        place, worktree = self._place(identity)
        return push.preflight(open_checkout(place), branch, is_new_branch=worktree is None or worktree.is_new_branch)

    def promote(
        self, identity: str, message: str = "", branch: str = "", *, opens_pull_request: bool = False
    ) -> Promoted:
        """Commit everything, push it, and return where a pull request is made."""
        self._home.refuse_if_read_only("push")
        place, worktree = self._place(identity)
        self._looks.pop(place.session_id, None)
        return push.promote(
            open_checkout(place),
            message,
            branch,
            is_new_branch=worktree is None or worktree.is_new_branch,
            opens_pull_request=opens_pull_request,
        )

    # Telling the agent -----------------------------------------------------------------------------------------------
    def comments_prompt(self, identity: str, comments: Sequence[Comment]) -> str:
        """Return comments on lines as one prompt, each with the line as it stands in the worktree."""
        place = self._place(identity)[0]
        with suppress(GitUnavailable):
            checkout = open_checkout(place)
            comments = [_quote(checkout, one) for one in comments]
        return comments_prompt(comments)

    def hand_conflict_over(self, identity: str, into: str = "") -> str:
        """Return what the agent is to be asked when its branch cannot be merged."""
        return merging.hand_conflict_over(self.open_checkout(identity), into)

    # -----------------------------------------------------------------------------------------------------------------
    def open_checkout(self, identity: str, change: str = "") -> Checkout:
        """Return where a session's files are. change: what is to be done to them, in words; empty: a look."""
        place = self._place(identity)[0]
        if change:
            self._home.refuse_if_read_only(change)
            self._looks.pop(place.session_id, None)
            self._settle(place.session_id)
        return open_checkout(place)

    def _refuse_while_it_works(self, checkout: Checkout, why: str) -> None:
        session_id = checkout.place.session_id
        with self._home.lend_store_to_read() as store:
            has_turn = bool(live_sessions.open_turns(store, [session_id]))
        if has_turn and any(host.session_id == session_id for host in hosts.survey(self._home.paths)):
            raise TurnInFlight(f"the agent works right now, and {why}: wait for the end of its turn, or interrupt it")

    def _settle(self, session_id: str) -> None:
        """Finish or undo what a kill has cut of this session's moves, before anything is ordered on top of it."""
        with self._home.lend_store_to_read() as store:
            cut = operations.find(store, "begun", KINDS, session_id)
        if cut:
            with self._home.lend_store() as store:
                recover(store, settlers(self._home.wiring.worktree_resources(store), PATIENCE_S), session_id)

    @contextmanager
    def _moving(self, identity: str, change: str) -> Iterator[tuple[Resources, Checkout]]:
        checkout = self.open_checkout(identity, change)
        with self._home.lend_store() as store:
            yield self._home.wiring.worktree_resources(store), checkout

    def _place(self, identity: str) -> tuple[Place, Worktree | None]:
        with self._home.lend_store_to_read() as store:
            session_id, workspace = _find(store, identity)
            worktree = worktrees.find(store, session_id)
            place = find_place(store, session_id, workspace)
        if worktree is not None and not self._home.read_only:
            note_look(self._home.paths.data / "worktrees", session_id, self._home.now())
        return place, worktree


class _Look:
    """What was last told of a session's folder, for those who watch it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.found: ChangeSet | None = None
        self.at = 0.0  # of the clock that never goes back


def _find(store: Store, identity: str) -> tuple[str, str]:
    """Return a session's id and folder. Raises RequestRefused."""
    found: list[tuple[str, str]] = []
    if identity:
        found = [(one.session_id, one.workspace) for one in live_sessions.find(store, identity)]
        found = found or [(one.session_id, one.path) for one in worktrees.find_beginning(store, identity)]
    none = f"there is no live session {identity!r}: `agents session list --live` lists them"
    return find_only(found, lambda one: one[0], identity, "sessions", LiveSessionNotFound(none))


def _quote(checkout: Checkout, comment: Comment) -> Comment:
    """Return a comment with the line that it is on, where that can be read."""
    with suppress(RequestRefused):
        lines = texts.read_text(checkout, comment.path).content.split("\n")
        if 1 <= comment.line <= len(lines):
            return replace(comment, quoted=lines[comment.line - 1])
    return comment
