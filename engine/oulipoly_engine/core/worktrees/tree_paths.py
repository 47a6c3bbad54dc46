"""Paths of files in a worktree, as a stranger may name them. Pure: whether links lie on the way is seen at opening."""

from __future__ import annotations

from oulipoly_engine.core.worktrees.refusals import PathRefused

_LONGEST = 4096  # bytes; Linux's PATH_MAX
_LONGEST_NAME = 255
# macOS ignores these in names (git's utf8.c, `next_hfs_char`), so `.g‌it` would be `.git` there.
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
_GIT_FOLDERS = (".git", "git~1")


def split_path(path: str) -> tuple[str, ...]:
    """Return the names on the way to a file from the worktree's root.

    Raises PathRefused for what is absolute, leads upwards, names git's own folder, or cannot be a path.
    """
    shown = repr(path[:200])
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PathRefused(f"the path {shown} has half a character: name a file as `changes` lists it") from error
    if not raw or len(raw) > _LONGEST or b"\0" in raw:
        raise PathRefused(f"{shown} cannot be a path: name a file below the worktree's root")
    if raw.startswith(b"/"):
        raise PathRefused(f"the path {shown} is absolute: name a file as seen from the worktree's root")
    names = tuple(path.split("/"))
    for name in names:
        if name in ("", ".", ".."):
            raise PathRefused(f"the path {shown} does not go straight down from the worktree's root")
        if name.translate(_IGNORED).casefold().rstrip(" .") in _GIT_FOLDERS:
            raise PathRefused(f"the path {shown} leads into git's own files, which are not for this")
        if len(name.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
            raise PathRefused(f"the path {shown} has a name that is too long for a file")
    return names
