"""What a discard throws away, kept as commits that a reference of ours holds: exact bytes, and what was staged.

Of two commits: the index as it was, and on top of it the files as they were in the worktree.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.worktrees.changes import INDEX, SIDES, Discarded
from oulipoly_engine.core.worktrees.refusals import FileMissing, FileTooLarge, PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.private_files import write_private
from oulipoly_engine.service.worktrees.changes import tree_files
from oulipoly_engine.service.worktrees.changes.orders import (
    LITERAL,
    in_chunks,
    line_of,
    look,
    look_at,
    order,
    order_line,
)
from oulipoly_engine.service.worktrees.changes.place import Checkout, commit_of
from oulipoly_engine.service.worktrees.changes.scratch import scratch_folder

DISCARDED = "refs/agent-runner/discarded"
_MOST_KEPT = 256 << 20  # bytes of one discard
US = {  # who makes commits that are on no branch
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "agent-runner"), ("EMAIL", "agent-runner@localhost"))
}


def reference_time(now: datetime) -> str:
    """Return a time as a part of a reference's name, which sorts as the times do."""
    return now.strftime("%Y%m%dT%H%M%S.%fZ")


def keep(checkout: Checkout, paths: Sequence[str], side: str, now: datetime) -> str:
    """Keep what files and the index hold of some paths, and return the reference that has it.

    Raises FileTooLarge, PathRefused (a folder, a device), and what git says.
    """
    with scratch_folder() as folder:
        env = US | {"GIT_INDEX_FILE": str(folder / "index")}
        staged = _tree_of_index(checkout, folder / "index", env)
        _put_files(checkout, paths, folder, env)
        files = order_line(checkout.git, "write-tree", env=env)
    head = commit_of(checkout.quiet, "HEAD")
    parents = () if head is None else ("-p", head)
    told = json.dumps({"side": side, "paths": list(paths)})  # half characters are escaped in it
    index = order_line(checkout.git, "commit-tree", staged, *parents, "-m", "The index before a discard", env=US)
    words = ("commit-tree", files, *parents, "-p", index, "-m", "Files before a discard", "-m", told)
    commit = order_line(checkout.git, *words, env=US)
    reference = f"{DISCARDED}/{checkout.place.session_id}/{reference_time(now)}"
    order(checkout.git, "update-ref", "-m", "before a discard", reference, commit, "")
    return reference


def undo(checkout: Checkout, reference: str, now: datetime) -> Discarded:
    """Put back what a discard threw away; what is there now is kept first. reference: empty is the last one.

    Raises FileMissing where there is no such reference of this session.
    """
    reference = _find(checkout, reference)
    side, paths = _read_message(checkout, reference)
    kept = keep(checkout, paths, side, now)
    entries = _entries(checkout, f"{reference}^{{tree}}" if side != INDEX else _index_tree(checkout, reference), paths)
    for path in paths:
        if side == INDEX:
            _restore_index(checkout, path, entries.get(path))
        else:
            _restore_file(checkout, path, entries.get(path))
    return Discarded(paths, side, kept)


def _read_message(checkout: Checkout, reference: str) -> tuple[str, tuple[str, ...]]:
    """Return side and paths of a discard. An agent can move the reference: what is there is judged like any input."""
    told = line_of(checkout.quiet, "show", "-s", "--format=%b", reference, "--")
    parents = line_of(checkout.quiet, "show", "-s", "--format=%P", reference, "--")
    try:
        document = json.loads(told)
        side, paths = document["side"], tuple(document["paths"])
    except (ValueError, TypeError, KeyError, RecursionError):
        side, paths = "", ()
    if side not in SIDES or not parents or not paths or not all(isinstance(path, str) for path in paths):
        raise FileMissing(f"{reference} is not what a discard has written: look at it with `git show {reference}`")
    for path in paths:
        split_path(path)
    return side, paths


def _find(checkout: Checkout, reference: str) -> str:
    prefix = f"{DISCARDED}/{checkout.place.session_id}/"
    known = line_of(checkout.quiet, "for-each-ref", "--format=%(refname)", prefix).split("\n")
    if known == [""]:
        raise FileMissing("nothing was discarded in this session, so that there is nothing to undo")
    if not reference:
        return known[-1]
    if reference not in known:
        raise FileMissing(f"{reference!r} is not a discard of this session: the last one is {known[-1]}")
    return reference


def _index_tree(checkout: Checkout, reference: str) -> str:
    """Return the tree of the last parent, which is the index."""
    parents = line_of(checkout.quiet, "show", "-s", "--format=%P", reference, "--").split()
    return f"{parents[-1]}^{{tree}}"


def copy_index(checkout: Checkout, target: Path) -> None:
    """Copy a worktree's index to a file; none where it has none yet."""
    source = checkout.root / line_of(checkout.quiet, "rev-parse", "--git-path", "index")
    if source.is_file():
        write_private(target, source.read_bytes())


def _tree_of_index(checkout: Checkout, target: Path, env: dict[str, str]) -> str:
    copy_index(checkout, target)
    result = look(checkout.git, "ls-files", "-z", "--unmerged")
    # A tree has no place for both sides of a conflict: it has the last commit's file there, and they stay in the files.
    in_conflict = {line.partition("\t")[2] for line in os.fsdecode(result.stdout).split("\0")[:-1]}
    entries = {}
    if in_conflict and commit_of(checkout.quiet, "HEAD") is not None:
        entries = _entries(checkout, "HEAD^{tree}", sorted(in_conflict))
    for path in sorted(in_conflict):
        order(checkout.git, LITERAL, "update-index", "--force-remove", "--", path, env=env)
    for path, (mode, sha) in entries.items():
        order(checkout.git, "update-index", "--add", "--cacheinfo", f"{mode},{sha},{path}", env=env)
    return order_line(checkout.git, "write-tree", env=env)


def _put_files(checkout: Checkout, paths: Sequence[str], folder: Path, env: dict[str, str]) -> None:
    """Put the files' exact bytes into the index of env, past every filter."""
    gone: list[str] = []
    there: list[tuple[str, str, str]] = []  # mode, path in the tree, file to read
    size = 0
    for number, path in enumerate(paths):
        names = split_path(path)
        status = tree_files.status_of(checkout.root, names)
        if status is None:
            gone.append(path)
        elif stat.S_ISLNK(status.st_mode):
            write_private(folder / f"link{number}", tree_files.link_target(checkout.root, names))
            there.append(("120000", path, str(folder / f"link{number}")))
        elif stat.S_ISREG(status.st_mode):
            size += status.st_size
            mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
            if size <= _MOST_KEPT:  # a copy: git itself would follow a link that takes the place
                write_private(folder / f"file{number}", tree_files.read_file(checkout.root, names, _MOST_KEPT))
            there.append((mode, path, str(folder / f"file{number}")))
        else:
            raise PathRefused(f"{path!r} is a folder or a device, which cannot be kept: discard its files by name")
    if size > _MOST_KEPT:
        raise FileTooLarge(
            f"these files have {size:,} bytes, more than the {_MOST_KEPT:,} that are kept of a discard: delete the "
            "large ones in their folder",
            size=size,
        )
    files = {file: (mode, path) for mode, path, file in there}
    for some in in_chunks(files):
        hashed = order(checkout.git, "hash-object", "-w", "--no-filters", "--", *some).decode().split()
        words = []
        for file, sha in zip(some, hashed, strict=True):
            mode, path = files[file]
            words += ["--cacheinfo", f"{mode},{sha},{path}"]
        order(checkout.git, "update-index", "--add", "--replace", *words, env=env)
    for some in in_chunks(gone):
        order(checkout.git, LITERAL, "update-index", "--force-remove", "--", *some, env=env)


def _entries(checkout: Checkout, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return mode and object of those paths that a tree has."""
    found = {}
    for some in in_chunks(paths):
        told = look_at(checkout.quiet, LITERAL, "ls-tree", "-z", "--full-tree", tree, "--", *some)
        for entry in os.fsdecode(told).split("\0"):
            fields, _, name = entry.partition("\t")
            if name in some:
                mode, _kind, sha = fields.split()
                found[name] = (mode, sha)
    return found


def _restore_file(checkout: Checkout, path: str, entry: tuple[str, str] | None) -> None:
    names = split_path(path)
    status = tree_files.status_of(checkout.root, names)
    if entry is None:
        tree_files.remove_file(checkout.root, names)
        return
    content = look_at(checkout.quiet, "cat-file", "blob", entry[1], output_limit=_MOST_KEPT + 1)
    if status is not None and stat.S_ISLNK(status.st_mode) and entry[0] != "120000":
        tree_files.remove_file(checkout.root, names)
    if entry[0] == "120000":
        tree_files.write_link(checkout.root, names, content)
    else:
        tree_files.write_file(checkout.root, names, content, None, is_executable=entry[0] == "100755")


def _restore_index(checkout: Checkout, path: str, entry: tuple[str, str] | None) -> None:
    if entry is None:
        order(checkout.git, LITERAL, "update-index", "--force-remove", "--", path)
    else:
        order(checkout.git, "update-index", "--add", "--cacheinfo", f"{entry[0]},{entry[1]},{path}")
