"""How one file differs, within a limit of size and of time, without starting what a repository may have planted."""

from __future__ import annotations

import os
import re
import stat

from oulipoly_engine.core.worktrees.changes import (
    BRANCH,
    DIFF_LIMIT,
    DIFF_SIDES,
    INDEX,
    LOOK_LIMIT,
    MOST_CONTEXT,
    WORKTREE,
    FileDiff,
    HunkText,
)
from oulipoly_engine.core.worktrees.patch import Patch, PatchUnreadable, added_file, parse_patch
from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.refusals import BranchRefused, FileMissing, FileTooLarge, PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import Git
from oulipoly_engine.service.worktrees.base.orders import LITERAL, look, look_at, refusal
from oulipoly_engine.service.worktrees.base.place import Checkout, base_reference

DIFF_TIMEOUT_S = 2.0  # contract B7
_BINARY_PROBE = 8000  # bytes in which git looks for a NUL
_DIFF = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--full-index", "--submodule=short"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=dirty", "--inter-hunk-context=0"),
)
_OBJECTS = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_SUBMODULE = b"160000"


def file_diff(checkout: Checkout, path: str, side: str = WORKTREE, context: int = 3) -> FileDiff:
    """Return how a file differs; an empty diff where it does not.

    side: `worktree`, what is not staged; `index`, what is; `branch`, what was committed since the session began.
    context: 0 to 20 lines around a change.
    Raises PathRefused, FileTooLarge (500 KB of diff), ChangesTimedOut (2 s), UsageInvalid.
    """
    data = read_diff(checkout, path, side, context)
    try:
        patch = parse_patch(data)
    except PatchUnreadable:  # a form that is new to us is still shown
        patch = Patch((data,))
    if patch.is_binary:
        size, sha = _size_and_sum(checkout, path, side, patch)
        return FileDiff(path, side, is_binary=True, size=size, sha=sha)
    hunks = tuple(
        HunkText(
            hunk.digest,
            hunk.header.decode("utf-8", "replace"),
            tuple(line.decode("utf-8", "replace") for line in hunk.lines),
            hunk.old_start,
            hunk.new_start,
        )
        for hunk in patch.hunks
    )
    return FileDiff(path, side, diff=data.decode("utf-8", "replace"), hunks=hunks)


def read_diff(checkout: Checkout, path: str, side: str, context: int = 3) -> bytes:
    """Return a file's diff as git prints it. Raises as `file_diff`."""
    if side not in DIFF_SIDES:
        raise UsageInvalid(f"there is no side {side!r} of a diff: name {', '.join(DIFF_SIDES)}")
    if not 0 <= context <= MOST_CONTEXT:
        raise UsageInvalid(f"{context} lines around a change cannot be shown: name 0 to {MOST_CONTEXT}")
    names = split_path(path)
    found = tree_files.status_of(checkout.root, names)
    _refuse_link_outwards(checkout, path, found)
    if side == WORKTREE and found is not None and stat.S_ISREG(found.st_mode) and found.st_size > LOOK_LIMIT:
        raise FileTooLarge(_too_large(path, found.st_size), size=found.st_size)
    if found is not None and stat.S_ISDIR(found.st_mode) and not is_submodule(checkout, path):
        raise PathRefused(f"{path!r} is a folder: name one of its files")
    words = (LITERAL, *_DIFF, *_between(checkout, side), f"-U{context}", "--", path)
    result = look(checkout.quiet, *words, timeout_s=DIFF_TIMEOUT_S, output_limit=DIFF_LIMIT)
    if (result.problem or "").startswith("printed more") or len(result.stdout) > DIFF_LIMIT:
        raise FileTooLarge(f"the diff of {path!r} has more than {DIFF_LIMIT >> 10} KB: look at it in its folder")
    if not result.succeeded:
        raise refusal(checkout.quiet, words, result)
    if not result.stdout and side == WORKTREE and found is not None and not is_tracked(checkout.quiet, path):
        return _untracked(checkout, path, found)
    return result.stdout


def _between(checkout: Checkout, side: str) -> tuple[str, ...]:
    if side == BRANCH:
        return (beginning_of(checkout), "HEAD")
    return ("--cached",) if side == INDEX else ()


def beginning_of(checkout: Checkout) -> str:
    """Return the last commit that a session's branch has in common with its base. Raises BranchRefused for none."""
    start = base_reference(checkout)[1]
    result = look(checkout.quiet, "merge-base", start, "HEAD") if start else None
    if result is None or not result.succeeded:
        raise BranchRefused("it is not known where this session's branch began: its commits cannot be told apart")
    return os.fsdecode(result.stdout).split("\n")[0]


def committed_files(checkout: Checkout) -> tuple[ChangeEntry, ...]:
    """Return the files that a session's branch has changed since it began, as far as they are committed."""
    words = ("diff", "--name-status", "-z", "--no-ext-diff", "--find-renames", beginning_of(checkout), "HEAD")
    told = iter(os.fsdecode(look_at(checkout.quiet, *words)).split("\0")[:-1])
    found = []
    for status in told:
        origin = next(told) if status[0] in "RC" else None
        found.append(ChangeEntry(next(told), status[0], origin))
    return tuple(found)


def is_tracked(quiet: Git, path: str) -> bool:
    """Tell whether the index has a file."""
    return bool(look_at(quiet, LITERAL, "ls-files", "-z", "--stage", "--", path))


def refuse_ignored(checkout: Checkout, path: str) -> None:
    """Raise FileMissing, whether it is there or not, for a file that git ignores: a `.env`, say.

    What git neither has nor would add, as files of a repository within, counts as ignored.
    """
    split_path(path)  # refuses what is no path of a file
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", path)
    if os.fsencode(path) not in look_at(checkout.quiet, LITERAL, *words).split(b"\0"):
        raise FileMissing(f"git knows of no file {path!r}, and a link that only looks sees no others")


def is_submodule(checkout: Checkout, path: str) -> bool:
    """Tell whether the index has a path as a submodule."""
    told = look_at(checkout.quiet, LITERAL, "ls-files", "-z", "--stage", "--", path).split(b"\0")
    return told[0].startswith(_SUBMODULE) and told[0].endswith(b"\t" + os.fsencode(path))


def _refuse_link_outwards(checkout: Checkout, path: str, found: os.stat_result | None) -> None:
    """Refuse a link that leads out of the worktree; the text of any other is a change like others."""
    if found is not None and stat.S_ISLNK(found.st_mode):
        end = os.path.realpath(checkout.root / path)
        if not end.startswith(f"{os.path.realpath(checkout.root)}{os.sep}"):
            raise PathRefused(f"{path!r} is a link that leads out of the worktree: look at it in its folder")


def _untracked(checkout: Checkout, path: str, found: os.stat_result) -> bytes:
    names, name = split_path(path), os.fsencode(path)
    if stat.S_ISLNK(found.st_mode):
        told = added_file(name, tree_files.link_target(checkout.root, names))
        return told.replace(b"new file mode 100644", b"new file mode 120000", 1)
    content = tree_files.read_file(checkout.root, names, LOOK_LIMIT)
    if b"\0" in content[:_BINARY_PROBE]:
        return added_file(name, b"") + b"Binary files /dev/null and b/%s differ\n" % name.replace(b"\n", b"?")
    if len(content) > DIFF_LIMIT:
        raise FileTooLarge(_too_large(path, len(content), DIFF_LIMIT), size=len(content))
    told = added_file(name, content, is_executable=bool(found.st_mode & stat.S_IXUSR))
    if len(told) > DIFF_LIMIT:
        raise FileTooLarge(f"the diff of {path!r} has more than {DIFF_LIMIT >> 10} KB: look at it in its folder")
    return told


def _size_and_sum(checkout: Checkout, path: str, side: str, patch: Patch) -> tuple[int, str]:
    names = split_path(path)
    if side == WORKTREE:
        if tree_files.status_of(checkout.root, names) is None:
            return 0, ""
        content = tree_files.read_file(checkout.root, names, LOOK_LIMIT)
        return len(content), tree_files.digest(content)
    objects = next((found for line in patch.header if (found := _OBJECTS.match(line))), None)
    if objects is None or not objects[2].strip(b"0"):
        return 0, ""
    content = read_object(checkout.quiet, os.fsdecode(objects[2]), path, LOOK_LIMIT)
    return len(content), tree_files.digest(content)


def read_object(quiet: Git, name: str, path: str, limit: int) -> bytes:
    """Return the content of one of git's objects. limit: bytes; a larger one is not read. Raises FileTooLarge."""
    size = int(look_at(quiet, "cat-file", "-s", name))
    if size > limit:
        raise FileTooLarge(_too_large(path, size, limit), size=size)
    return look_at(quiet, "cat-file", "blob", name, output_limit=limit + 1)


def _too_large(path: str, size: int, limit: int = LOOK_LIMIT) -> str:
    return f"{path!r} has {size:,} bytes, more than the {limit:,} that are read for a look: look at it in its folder"
