"""What is staged, unstaged, discarded and committed in a session's folder, by the file and by the hunk."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from datetime import datetime

from oulipoly_engine.core.worktrees.changes import INDEX, SIDES, WORKTREE, Committed, Discarded
from oulipoly_engine.core.worktrees.patch import Hunk, Patch, parse_patch, patch_of_hunk, select_lines
from oulipoly_engine.core.worktrees.refusals import (
    FileChanged,
    FileMissing,
    MessageMissing,
    NothingStaged,
)
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.git import join_names
from oulipoly_engine.service.worktrees.base.orders import LITERAL, line_of, look, look_at, order
from oulipoly_engine.service.worktrees.base.place import Checkout, branch_of, commit_of
from oulipoly_engine.service.worktrees.changes.diffs import read_diff
from oulipoly_engine.service.worktrees.snapshot import discarded

_HOOKS_TIMEOUT_S = 600.0  # of a commit: hooks may run a repository's whole checks
_STAGING_S = 600.0  # for files of many gigabytes
_LONGEST_MESSAGE = 100_000  # characters


def stage(checkout: Checkout, paths: Sequence[str]) -> None:
    """Stage files as they are now. paths: none is every file. Raises PathRefused, FileMissing, IndexLocked."""
    _on_paths(checkout, ("add", "--all"), paths)


def unstage(checkout: Checkout, paths: Sequence[str]) -> None:
    """Take files out of the index again; they stay as they are. paths: none is every file. Raises as `stage`."""
    _on_paths(checkout, ("reset", "--quiet"), paths)


def discard(checkout: Checkout, paths: Sequence[str], side: str, now: datetime) -> Discarded:
    """Throw changes away, once they are kept.

    side: `worktree`, files become what is staged, untracked ones go; `index`, what is staged becomes the last commit,
    and files stay. Raises as `stage`, and UsageInvalid without paths.
    """
    _refuse_side(side)
    if not paths:
        raise UsageInvalid("name the files whose changes are to be discarded")
    paths = tuple(dict.fromkeys(paths))
    for path in paths:
        tree_files.status_of(checkout.root, split_path(path))
    known = set(os.fsdecode(look_at(checkout.quiet, "ls-files", "-z", output_limit=1 << 28)).split("\0"))
    tracked = [path for path in paths if path in known]
    loose = [path for path in paths if path not in known]
    missing = [path for path in loose if tree_files.status_of(checkout.root, split_path(path)) is None]
    if missing and side == WORKTREE:
        raise FileMissing(f"there is no file {missing[0]!r} in the worktree or the index")
    reference = discarded.keep(checkout, paths, side, now)
    if side == INDEX:
        _on_paths(checkout, ("reset", "--quiet"), paths)
    else:
        if tracked:
            _on_paths(checkout, ("restore", "--worktree"), tracked)
        for path in loose:
            tree_files.remove_file(checkout.root, split_path(path))
    return Discarded(paths, side, reference)


def stage_hunk(checkout: Checkout, path: str, digest: str, *, lines: Collection[int] | None = None) -> None:
    """Stage one hunk of a file, as `file_diff` of the worktree with three lines around a change named it.

    lines: places of those of its lines that are to be staged; None: all. Raises FileChanged where the file has no such
    hunk any more.
    """
    patch = _patch_of(checkout, path, digest, WORKTREE, lines, reverse=False)
    _apply(checkout, patch, cached=True, reverse=False)


def unstage_hunk(checkout: Checkout, path: str, digest: str, *, lines: Collection[int] | None = None) -> None:
    """Take one hunk out of the index, as `file_diff` of the index named it. Raises as `stage_hunk`."""
    patch = _patch_of(checkout, path, digest, INDEX, lines, reverse=True)
    _apply(checkout, patch, cached=True, reverse=True)


def discard_hunk(
    checkout: Checkout,
    path: str,
    digest: str,
    now: datetime,
    *,
    lines: Collection[int] | None = None,
) -> Discarded:
    """Throw one hunk of a file away, once the file is kept. Raises as `stage_hunk`."""
    patch = _patch_of(checkout, path, digest, WORKTREE, lines, reverse=True)
    reference = discarded.keep(checkout, [path], WORKTREE, now)
    _apply(checkout, patch, cached=False, reverse=True)
    return Discarded((path,), WORKTREE, reference)


def commit(checkout: Checkout, message: str, *, stages_all: bool = False) -> Committed:
    """Commit what is staged, with the repository's hooks, since a person asked for it.

    stages_all: every file is staged first, untracked ones too. Raises MessageMissing, NothingStaged, BranchRefused (no
    branch is checked out), and GitFailed with the hooks' words.
    """
    message = message.strip()
    if not message:
        raise MessageMissing("a commit needs a message: say what it changes")
    if len(message) > _LONGEST_MESSAGE or "\0" in message:
        raise MessageMissing(f"the message has a NUL, or more than {_LONGEST_MESSAGE:,} characters: shorten it")
    branch = branch_of(checkout)
    if stages_all:
        stage(checkout, ())
    if not has_staged(checkout):
        raise NothingStaged("nothing is staged: stage files first, or commit with --all")
    words = ("commit", "--quiet", "--cleanup=strip", f"--message={message}")
    order(checkout.git, *words, hooks=True, timeout_s=_HOOKS_TIMEOUT_S)
    sha, subject = line_of(checkout.quiet, "show", "-s", "--format=%H%n%s", "HEAD", "--").split("\n", 1)
    return Committed(sha, branch, subject)


def has_staged(checkout: Checkout) -> bool:
    """Tell whether a commit would change anything: something is staged, or a merge is to be ended."""
    if commit_of(checkout.quiet, "HEAD") is None:
        return bool(look(checkout.quiet, "ls-files", "-z").stdout)
    result = look(checkout.quiet, "diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none")
    return result.exit_code == 1 or commit_of(checkout.quiet, "MERGE_HEAD") is not None


def _on_paths(checkout: Checkout, words: tuple[str, ...], paths: Sequence[str]) -> None:
    for path in paths:
        tree_files.status_of(checkout.root, split_path(path))
    if not paths:
        order(checkout.git, *words, *(() if words[0] != "restore" else ("--", ".")), timeout_s=_STAGING_S)
        return
    named = ("--pathspec-from-file=-", "--pathspec-file-nul")
    order(checkout.git, LITERAL, *words, *named, timeout_s=_STAGING_S, stdin=join_names(paths))


def _refuse_side(side: str) -> None:
    if side not in SIDES:
        raise UsageInvalid(f"there is no side {side!r} of changes: name {' or '.join(SIDES)}")


def _patch_of(
    checkout: Checkout,
    path: str,
    digest: str,
    side: str,
    lines: Collection[int] | None,
    *,
    reverse: bool,
) -> bytes:
    # Always with lines around a change: git applies a hunk without any at another place, where lines are alike.
    patch = parse_patch(read_diff(checkout, path, side))
    hunk = _find_hunk(patch, path, digest)
    if lines is not None:
        chosen = select_lines(hunk, lines, reverse=reverse)
        if chosen is None:
            raise UsageInvalid("none of the chosen lines is a change: choose lines that begin with + or -")
        hunk = chosen
    return patch_of_hunk(patch, hunk, reverse=reverse)


def _find_hunk(patch: Patch, path: str, digest: str) -> Hunk:
    for hunk in patch.hunks:
        if hunk.digest == digest:
            return hunk
    raise FileChanged(f"{path!r} has no such hunk any more: look at its diff again")


def _apply(checkout: Checkout, patch: bytes, *, cached: bool, reverse: bool) -> None:
    words = ["apply", "--whitespace=nowarn", "--no-ignore-whitespace"]
    words += ["--cached"] if cached else []
    words += ["--reverse"] if reverse else []
    order(checkout.git, *words, "-", stdin=patch)
