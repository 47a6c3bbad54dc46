"""Files that travel with a session's branch: a checkout's files at a turn's end, kept as a commit and brought back.

    take:     status by an index of ours -> changed files become objects -> tree -> commit -> reference
    restore:  take, of what is there now -> each file in its place

An index of ours stays beside git's own, so that git knows by times and sizes what has changed since the last turn. The
user's index and branch stay as they are. Files are kept byte by byte; what git ignores, repositories inside and files
that are too large are left out, and named. After a kill the reference of what was there before stands, each file is the
old one or the new one, and the same order, or the one that leads back, can be given again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from oulipoly_engine.core.operations.operations import Operation
from oulipoly_engine.core.worktrees.changes import BroughtBack, FileChanges, LeftOut, TurnFiles, TurnPreview
from oulipoly_engine.core.worktrees.refusals import FileMissing
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.core.worktrees.worktree_refusals import WorktreeBusy
from oulipoly_engine.core.worktrees.worktrees import FOLDER
from oulipoly_engine.records import asdict
from oulipoly_engine.service.operations.operations import Settlers
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import Git, GitFailed
from oulipoly_engine.service.worktrees.base.looking import find_admin, for_exact_bytes
from oulipoly_engine.service.worktrees.base.orders import line_of
from oulipoly_engine.service.worktrees.base.place import Checkout, commit_of
from oulipoly_engine.service.worktrees.base.repository import Resources, hold_session
from oulipoly_engine.service.worktrees.snapshot.objects import GITLINK, Entry, Objects, open_objects
from oulipoly_engine.service.worktrees.snapshot.references import TURN, TURN_INDEX, message_of, refer, reference_time
from oulipoly_engine.store.operations import operations

RESTORE = "restore of files"  # a kind of operation
LARGEST = 64 << 20  # bytes of a file
MOST_FILES = 100_000  # that no snapshot has yet
MOST_BYTES = 1 << 30  # of the same: each may become an object
_STATUS = (
    *("-c", "core.splitIndex=false", "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all"),
    *("--ignored=matching", "--ignore-submodules=all", "--branch", "--no-ahead-behind"),
)
_HEAD = "# branch.oid "
_FIELDS = 8  # before the path, in git's line for a file that has changed


def take_turn(checkout: Checkout, turn: str, now: datetime) -> TurnFiles:
    """Keep the files of a checkout as they are now. Where an earlier snapshot has the same, that one is returned.

    turn: the last part of the reference's name. Raises GitFailed and OSError, with nothing kept.
    """
    with _open(checkout) as work:
        return _keep(checkout, work, turn, now)


def preview_turn(checkout: Checkout, reference: str, paths: Sequence[str] = ()) -> TurnPreview:
    """Return what `restore_turn` would do now. Raises as it does."""
    with _open(checkout) as work:
        tree, _head, left_out, _changed_at = _store_files(checkout, work)
        changes = _compare(checkout, work, tree, _find(checkout, reference), paths)[0]
        known = line_of(
            checkout.quiet, "for-each-ref", "--sort=-creatordate", "--format=%(tree)", _stem(checkout)
        ).split()
        base = tree if tree in known else next(iter(known), "")
        newer = {entry.path for entry, _letter in work.differences(base, tree)} if base else {*changes.touched}
        return TurnPreview(changes, tuple(path for path in changes.touched if path in newer), left_out)


def restore_turn(checkout: Checkout, reference: str, now: datetime, paths: Sequence[str] = ()) -> BroughtBack:
    """Give a checkout the files of a snapshot, after those that are there now are kept; what is in none stays.

    paths: the files and folders that are given back; none is all. Raises FileMissing where the reference is gone,
    PathRefused, GitFailed and OSError.
    """
    with _open(checkout) as work:
        commit = _find(checkout, reference)
        before = _keep(checkout, work, f"before-{reference_time(now)}", now)
        changes, entries = _compare(checkout, work, before.tree, commit, paths)
        if not entries and not changes.going:
            return BroughtBack(changes, None)
        work.restore(checkout.root, entries, changes.going)
    return BroughtBack(changes, before)


def settlers(resources: Resources) -> Settlers:
    """Return what says that a kill has cut a restore, which is then left to whoever reads it."""

    def settle(operation: Operation) -> str:
        session_id = operation.subject
        try:
            with hold_session(resources, session_id, patience_s=0.0):
                operations.end(resources.store, operation.operation_id, "fail", resources.clock.now())
        except WorktreeBusy:
            return ""
        way_back = operation.detail["way_back"]
        return f"going back in session {session_id} was cut off: the same order finishes it, `{way_back}` undoes it"

    return {RESTORE: settle}


@contextmanager
def _open(checkout: Checkout) -> Iterator[Objects]:
    exact = for_exact_bytes(checkout.quiet)
    # Indexes are ours alone here: git may write into them what it has learned by a look.
    with open_objects(Git(exact.folder, {**exact.env, "GIT_OPTIONAL_LOCKS": "1"}, exact.keeps)) as work:
        yield work


def _keep(checkout: Checkout, work: Objects, turn: str, now: datetime) -> TurnFiles:
    tree, head, left_out, changed_at = _store_files(checkout, work)
    stem = _stem(checkout)
    known = line_of(checkout.quiet, "for-each-ref", "--format=%(tree) %(objectname) %(refname)", stem)
    for line in known.split("\n"):
        if line.startswith(f"{tree} "):
            _tree, commit, reference = line.split(" ", 2)
            return TurnFiles(reference, commit, tree, is_new=False, left_out=left_out, changed_at=changed_at)
    message = message_of("Files after a turn", {"turn": turn, "at": now.isoformat(), **asdict(left_out)})
    commit = work.commit(tree, message, head)
    reference = refer(checkout.git, f"{stem}{turn}", commit)
    return TurnFiles(reference, commit, tree, is_new=True, left_out=left_out, changed_at=changed_at)


def _stem(checkout: Checkout) -> str:
    return f"{TURN}/{checkout.place.session_id}/"


def _store_files(checkout: Checkout, work: Objects) -> tuple[str, str, LeftOut, float]:
    """Return the tree of a checkout's files, the commit of HEAD, empty for none, what is not in the tree, and a time.

    That is when the last file was changed, or taken out of its folder, which the snapshot before has otherwise.
    """
    kept = find_admin(checkout.quiet)[0] / TURN_INDEX
    index = work.path()
    with suppress(FileNotFoundError):
        shutil.copy2(kept, index)  # with its time, by which git knows which files it has to read
    before = _written_at(index)
    try:
        lines = work.names(*_STATUS, index=index)
    except GitFailed:
        if before is None:
            raise
        index.unlink()  # it may be spoiled; it is only a memory
        lines = work.names(*_STATUS, index=index)
    head = next(line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)).replace("(initial)", "")
    ignored = tuple(line[2:] for line in lines if line.startswith("! ") and line[2:] != f"{FOLDER}/")
    untracked = [line[2:] for line in lines if line.startswith("? ")]
    changed = {line.split(" ", _FIELDS)[_FIELDS]: line[3] for line in lines if line.startswith("1 ")}
    files = [name for name, letter in changed.items() if letter not in ".D"]
    files += (name for name in untracked if not name.endswith("/"))
    large = {name for name in files if _size(checkout.root, name) > LARGEST}
    unreadable = {name for name in files if not _is_readable(checkout.root, name)}
    _refuse_too_many(checkout.root, [name for name in files if name not in large])
    gone = [name for name, letter in changed.items() if letter == "D" or name in large | unreadable]
    if gone:
        work.remove(index, gone)
    refused = work.add(index, [name for name in files if name not in large | unreadable])
    tree = work.text("write-tree", index=index)
    if _written_at(index) != before:
        fresh = kept.with_name(f"{TURN_INDEX}-{uuid4().hex}")
        try:
            shutil.copy2(index, fresh)
            fresh.replace(kept)
        except OSError:  # it is only a memory
            fresh.unlink(missing_ok=True)
    repositories = tuple(name for name in untracked if name.endswith("/"))
    left_out = LeftOut(ignored, repositories, tuple(sorted(large)), tuple(sorted({*unreadable, *refused})))
    return tree, head, left_out, max((_changed_at(checkout.root / name) for name in (*files, *gone)), default=0.0)


def _refuse_too_many(root: Path, names: Sequence[str]) -> None:
    size = sum(_size(root, name) for name in names) if len(names) <= MOST_FILES else MOST_BYTES + 1
    if size > MOST_BYTES:
        raise GitFailed(
            f"{len(names)} files of {root} are in no snapshot yet, more than {MOST_FILES} or {MOST_BYTES >> 20} MiB: "
            "have git ignore those that need not go back"
        )


def _written_at(index: Path) -> int | None:
    return index.stat().st_mtime_ns if index.exists() else None


def _changed_at(path: Path) -> float:
    try:
        return os.lstat(path).st_ctime
    except OSError:  # it is gone: its folder tells
        return _changed_at(path.parent)


def _size(root: Path, name: str) -> int:
    try:
        return os.lstat(root / name).st_size
    except OSError:  # it is gone
        return 0


def _is_readable(root: Path, name: str) -> bool:
    path = root / name
    return os.access(path, os.R_OK, follow_symlinks=False) or not os.path.lexists(path)


def _find(checkout: Checkout, reference: str) -> str:
    """Return the commit of a reference. One of another session counts too: a fork has its files from there."""
    commit = commit_of(checkout.quiet, reference) if reference.startswith(f"{TURN}/") else None
    if commit is None:
        raise FileMissing(f"{reference!r} holds no files of a turn, or is gone: `git for-each-ref {TURN}` lists them")
    return commit


def _compare(
    checkout: Checkout, work: Objects, tree: str, commit: str, paths: Sequence[str]
) -> tuple[FileChanges, list[Entry]]:
    """Return what leads from a tree to that of a commit, and the entries that are to be written."""
    differences = [
        (entry, letter)
        for entry, letter in work.differences(tree, commit)
        if entry.mode != GITLINK and _is_chosen(entry.path, paths)
    ]
    for entry, _letter in differences:
        split_path(entry.path)  # an agent can write references too
    going = tuple(entry.path for entry, letter in differences if letter == "D")
    coming = [entry.path for entry, letter in differences if letter == "A"]
    obstacles = tree_files.find_obstacles(checkout.root, coming, frozenset(going))
    changes = FileChanges(
        changing=tuple(entry.path for entry, letter in differences if letter not in "AD"),
        coming=tuple(path for path in coming if path not in obstacles),
        going=going,
        staying=tuple(sorted(set(obstacles.values()))),
    )
    entries = [entry for entry, letter in differences if letter != "D" and entry.path not in obstacles]
    return changes, entries


def _is_chosen(path: str, paths: Iterable[str]) -> bool:
    names = [name.rstrip("/") for name in paths]
    return not names or any(path == name or path.startswith(f"{name}/") for name in names)
