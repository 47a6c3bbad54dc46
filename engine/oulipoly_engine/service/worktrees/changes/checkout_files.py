"""The files of a checkout between two trees: whether they have come from one to the other, and the way back.

All files are asked about at once: a merge of a thousand files must not cost thousands of processes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import STREAMED, Git, join_names, quote_paths
from oulipoly_engine.service.worktrees.base.looking import for_looking
from oulipoly_engine.service.worktrees.base.orders import git_in, look, look_at, order
from oulipoly_engine.service.worktrees.changes.merge_plan import changed_files

_LINK, _SUBMODULE, _EXECUTABLE = "120000", "160000", "100755"

Entry = tuple[str, str]  # mode and object, as git has them


class _Found(Record):
    """A file as it is in a checkout."""

    mode: str  # as git's; empty: it is a folder or a device
    sha: str  # of a regular file or a link


def has_files_of(quiet: Git, old: str, new: str) -> bool:
    """Tell whether index and files of a checkout have come from one tree to another."""
    files = changed_files(quiet, old, new)
    wanted, staged, found = _entries(quiet, new, files), _staged(quiet, files), _look_at_files(quiet, files)
    return staged == wanted and all(_is_as(found.get(path), wanted.get(path)) for path in files)


def restore_files(checkout: Path, old: str, new: str) -> tuple[str, ...]:
    """Give a checkout the files of `old` again where it has those of `new`, or halves of them.

    What is neither was written by somebody else meanwhile, and stays. Returns the files that stay so.
    """
    git = git_in(checkout)
    quiet = for_looking(git)
    files = changed_files(quiet, old, new)
    before, after, staged = _entries(quiet, old, files), _entries(quiet, new, files), _staged(quiet, files)
    found = _look_at_files(quiet, files)
    ours: list[str] = []
    kept: list[str] = []
    for path in files:
        sides = (before.get(path), after.get(path))
        is_ours = path not in found or any(_is_as(found[path], side) for side in sides)
        is_ours = is_ours or _is_half_written(quiet, path, sides[1])
        (ours if is_ours and staged.get(path) in (None, *sides) else kept).append(path)
    gone = [path for path in ours if path not in before]
    back = [path for path in ours if path in before]
    lines = [f"0 {old}\t{path}" for path in gone if path in staged]
    lines += ("{} {}\t{}".format(*before[path], path) for path in back if staged.get(path) != before[path])
    if lines:
        order(git, "update-index", "-z", "--index-info", stdin=join_names(lines))
    for path in gone:
        tree_files.remove_file(checkout, path.split("/"))
    differing = [path for path in back if not _is_as(found.get(path), before[path])]
    if differing:
        order(git, "checkout-index", "--force", "-z", "--stdin", stdin=join_names(differing), timeout_s=600.0)
    git.run("update-index", "-q", "--refresh", timeout_s=600.0)
    return tuple(kept)


def _is_as(found: _Found | None, entry: Entry | None) -> bool:
    """Tell whether a file in a checkout is what a tree has; None: there is no such file."""
    if found is None or entry is None:
        return found is None and entry is None
    if entry[0] == _SUBMODULE:
        return True  # no move goes into a submodule
    return (found.mode, found.sha) == entry


def _is_half_written(quiet: Git, path: str, after: Entry | None) -> bool:
    """Tell whether a file is the beginning of what a move writes there."""
    if after is None or after[0] in (_LINK, _SUBMODULE):
        return False
    words = ("cat-file", "--filters", f"--path={path}", after[1])
    with suppress(RequestRefused):
        content = look_at(git_in(quiet.folder), *words, timeout_s=60.0, output_limit=1 << 30)
        return content.startswith(tree_files.read_file(quiet.folder, path.split("/"), len(content)))
    return False


def _look_at_files(quiet: Git, files: Sequence[str]) -> dict[str, _Found]:
    """Return those files that are there."""
    found: dict[str, _Found] = {}
    regular = []
    for path in files:
        names = path.split("/")
        try:
            status = tree_files.status_of(quiet.folder, names)
        except RequestRefused:  # a link, or a file, stands where a folder was
            status = None
        if status is None:
            continue
        found[path] = _Found("", "")
        if stat.S_ISLNK(status.st_mode):
            target = tree_files.link_target(quiet.folder, names)
            found[path] = _Found(_LINK, _object_name(quiet, target))
        elif stat.S_ISREG(status.st_mode):
            regular.append(path)
            found[path] = _Found(_EXECUTABLE if status.st_mode & stat.S_IXUSR else "100644", "")
    if not regular:
        return found
    words = (*STREAMED, "hash-object", "--stdin-paths")
    names = order(git_in(quiet.folder), *words, stdin=quote_paths(regular), timeout_s=600.0).decode().split()
    found |= {path: _Found(found[path].mode, sha) for path, sha in zip(regular, names, strict=True)}
    return found


def _object_name(quiet: Git, content: bytes) -> str:
    """Return the name that git gives to a content."""
    algorithm = os.fsdecode(look_at(quiet, "rev-parse", "--show-object-format")).strip()
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content).hexdigest()


def _entries(quiet: Git, tree: str, files: Iterable[str]) -> dict[str, Entry]:
    """Return mode and object of those files that a tree has."""
    told = look_at(quiet, "ls-tree", "-r", "-z", "--full-tree", tree, timeout_s=60.0, output_limit=1 << 28)
    return _read_entries(told, set(files), 2)


def _staged(quiet: Git, files: Iterable[str]) -> Mapping[str, Entry]:
    told = look(quiet, "ls-files", "-z", "--stage", timeout_s=60.0, output_limit=1 << 28).stdout
    return _read_entries(told, set(files), 1)


def _read_entries(told: bytes, wanted: set[str], place: int) -> dict[str, Entry]:
    """Read entries. place: of the object among the fields before the path."""
    found = {}
    for line in os.fsdecode(told).split("\0")[:-1]:
        fields, _, name = line.partition("\t")
        if name in wanted:
            parts = fields.split()
            found[name] = (parts[0], parts[place])
    return found
