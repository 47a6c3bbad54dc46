"""Files of a session as text: read from the worktree, the index or the last commit, and written."""

from __future__ import annotations

import os

from oulipoly_engine.core.worktrees.changes import (
    HEAD,
    INDEX,
    REVISIONS,
    TEXT_LIMIT,
    WORKTREE,
    FileText,
    Written,
)
from oulipoly_engine.core.worktrees.refusals import FileMissing, FileNotText, FileTooLarge, PathRefused
from oulipoly_engine.core.worktrees.tree_paths import split_path
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.service.worktrees.base import tree_files
from oulipoly_engine.service.worktrees.base.orders import LITERAL, look_at, order
from oulipoly_engine.service.worktrees.base.place import Checkout, commit_of
from oulipoly_engine.service.worktrees.changes.diffs import read_object

_REGULAR = ("100644", "100755", "100664")


def read_text(checkout: Checkout, path: str, rev: str = WORKTREE) -> FileText:
    """Return a file as text. rev: `head`, `index` or `worktree`.

    Raises PathRefused, FileMissing, FileTooLarge (1 MiB), FileNotText, UsageInvalid.
    """
    if rev not in REVISIONS:
        raise UsageInvalid(f"there is no state {rev!r} of a file: name {', '.join(REVISIONS)}")
    names = split_path(path)
    if rev == WORKTREE:
        content = tree_files.read_file(checkout.root, names, TEXT_LIMIT)
    else:
        tree_files.status_of(checkout.root, names)  # refuses a way through links, as for the worktree
        content = _read_kept(checkout, path, rev)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileNotText(f"{path!r} is not UTF-8 text: look at it in its folder") from error
    return FileText(path, rev, text, tree_files.digest(content))


def _read_kept(checkout: Checkout, path: str, rev: str) -> bytes:
    quiet = checkout.quiet
    if rev == INDEX:
        entries = look_at(quiet, LITERAL, "ls-files", "-z", "--stage", "--", path)
    elif commit_of(quiet, "HEAD") is None:
        raise FileMissing("the branch has no commit yet: read the file with rev=worktree")
    else:
        entries = look_at(quiet, LITERAL, "ls-tree", "-z", "--full-tree", "HEAD", "--", path)
    for entry in os.fsdecode(entries).split("\0"):
        told, _, name = entry.partition("\t")
        if name != path:
            continue
        fields = told.split()
        mode, sha = fields[0], fields[2] if rev == HEAD else fields[1]
        if mode not in _REGULAR:
            raise PathRefused(f"{path!r} is a link or a submodule in the {rev}, and not a regular file")
        return read_object(quiet, sha, path, TEXT_LIMIT)
    raise FileMissing(f"the {rev} has no file {path!r}")


def put_text(
    checkout: Checkout, path: str, content: str, *, stage: bool = False, expected_etag: str | None = None
) -> Written:
    """Write a file of the worktree, and stage it if asked.

    expected_etag: of the file as it was read; empty: it must not be there; None: whatever is there.
    Raises FileChanged where it is another one by now, PathRefused, FileTooLarge, FileNotText.
    """
    names = split_path(path)
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileNotText(f"the text for {path!r} has half a character: send whole ones") from error
    if len(data) > TEXT_LIMIT:
        raise FileTooLarge(f"the text for {path!r} has {len(data):,} bytes, more than {TEXT_LIMIT:,}", size=len(data))
    tree_files.write_file(checkout.root, names, data, expected_etag)
    if stage:
        order(checkout.git, LITERAL, "add", "--", path)
    return Written(path, tree_files.digest(data), is_staged=stage)
