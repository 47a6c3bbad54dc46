"""The files of a checkout between two trees: whether they have come from one to the other, and the way back."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.service.worktrees.changes import tree_files
from oulipoly_engine.service.worktrees.changes.merge_plan import changed_files
from oulipoly_engine.service.worktrees.changes.orders import LITERAL, for_looking, git_in, look, look_at, order
from oulipoly_engine.service.worktrees.git import Git


def has_files_of(quiet: Git, old: str, new: str) -> bool:
    """Tell whether index and files of a checkout have come from one tree to another."""
    files = changed_files(quiet, old, new)
    wanted, staged = entries_of(quiet, new, files), _staged(quiet, files)
    return staged == wanted and all(_is_as(quiet, path, wanted.get(path)) for path in files)


def restore_files(checkout: Path, old: str, new: str) -> tuple[str, ...]:
    """Give a checkout the files of `old` again where it has those of `new`, or halves of them.

    What is neither was written by somebody else meanwhile, and stays. Returns the files that stay so.
    """
    git = git_in(checkout)
    quiet = for_looking(git)
    files = changed_files(quiet, old, new)
    before, after, staged = entries_of(quiet, old, files), entries_of(quiet, new, files), _staged(quiet, files)
    kept = []
    for path in files:
        names, entry = path.split("/"), before.get(path)
        if not _is_ours(quiet, path, entry, after.get(path)) or staged.get(path) not in (
            None,
            entry,
            after.get(path),
        ):
            kept.append(path)
            continue
        if entry is None:
            order(git, LITERAL, "update-index", "--force-remove", "--", path)
            tree_files.remove_file(checkout, names)
        else:
            order(git, "update-index", "--add", "--replace", "--cacheinfo", f"{entry[0]},{entry[1]},{path}")
            if not _is_as(quiet, path, entry):
                order(git, "checkout-index", "--force", "--", path)
    with suppress(RequestRefused):
        order(git, "update-index", "-q", "--refresh")
    return tuple(kept)


def _is_ours(quiet: Git, path: str, before: tuple[str, str] | None, after: tuple[str, str] | None) -> bool:
    """Tell whether a file is as a move has found it, has left it, or has half written it."""
    status = tree_files.status_of(quiet.folder, path.split("/"))
    if status is None or _is_as(quiet, path, before) or _is_as(quiet, path, after):
        return True
    if after is None or after[0] not in ("100644", "100755"):
        return False
    words = ("cat-file", "--filters", f"--path={path}", after[1])
    content = look_at(git_in(quiet.folder), *words, output_limit=1 << 30)
    with suppress(RequestRefused):
        return content.startswith(tree_files.read_file(quiet.folder, path.split("/"), len(content)))
    return False


def _is_as(quiet: Git, path: str, entry: tuple[str, str] | None) -> bool:
    """Tell whether a file in a checkout is what a tree has; entry: mode and object, None where it has no such file."""
    names = path.split("/")
    status = tree_files.status_of(quiet.folder, names)
    if status is None or entry is None:
        return (status is None) == (entry is None)
    if entry[0] == "120000":
        with suppress(OSError):
            return tree_files.link_target(quiet.folder, names) == look_at(quiet, "cat-file", "blob", entry[1])
        return False
    if entry[0] == "160000":
        return True  # no move goes into a submodule
    if not stat.S_ISREG(status.st_mode) or bool(status.st_mode & stat.S_IXUSR) != (entry[0] == "100755"):
        return False
    with suppress(RequestRefused):
        told = look_at(git_in(quiet.folder), "hash-object", f"--path={path}", "--", str(quiet.folder / path))
        return os.fsdecode(told).strip() == entry[1]
    return False


def entries_of(quiet: Git, tree: str, files: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Return mode and object of those files that a tree has."""
    told = os.fsdecode(look_at(quiet, "ls-tree", "-r", "-z", "--full-tree", tree, timeout_s=60.0, output_limit=1 << 28))
    wanted = set(files)
    found = {}
    for line in told.split("\0")[:-1]:
        fields, _, name = line.partition("\t")
        if name in wanted:
            mode, _kind, sha = fields.split()
            found[name] = (mode, sha)
    return found


def _staged(quiet: Git, files: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    told = os.fsdecode(look(quiet, "ls-files", "-z", "--stage", timeout_s=60.0, output_limit=1 << 28).stdout)
    wanted = set(files)
    found = {}
    for line in told.split("\0")[:-1]:
        fields, _, name = line.partition("\t")
        if name in wanted:
            mode, sha, _stage = fields.split()
            found[name] = (mode, sha)
    return found
