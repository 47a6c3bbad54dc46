"""What `git status --porcelain=v2 -z --branch` prints, as a value. Pure.

Source: git-status(1) of git 2.39, "Porcelain Format Version 2".
"""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.records import Record

MOST_ENTRIES = 200  # contract B7
WORDS = {
    "M": "modified",
    "T": "type changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "conflict",
    "?": "untracked",
}
_FIELDS = {"1": 8, "2": 9, "u": 10}  # blanks before the path


class ChangeEntry(Record):
    """A file that differs. Bytes of its name that are not UTF-8 are half characters, as `os.fsdecode` gives them."""

    path: str
    status: str  # git's letter, of `WORDS`
    renamed_from: str | None = None
    is_submodule: bool = False


class Status(Record):
    """What git says of a worktree."""

    head: str | None = None  # commit; None: the branch has none yet
    branch: str | None = None  # None: HEAD is detached
    upstream: str | None = None
    staged: tuple[ChangeEntry, ...] = ()
    unstaged: tuple[ChangeEntry, ...] = ()  # untracked files and conflicts among them
    is_cut: bool = False  # there are more files than are told


def parse_status(data: bytes, limit: int = MOST_ENTRIES, *, is_whole: bool = True) -> Status:
    """Read git's answer. limit: files that are told. is_whole: False where the end of data was cut off.

    Lines of a kind that is not known are passed over, as git's manual asks of readers.
    """
    words = data.decode("utf-8", "surrogateescape").split("\0")
    words.pop()  # what follows the last NUL: nothing, or the half of a line
    headers: dict[str, str] = {}
    staged: list[ChangeEntry] = []
    unstaged: list[ChangeEntry] = []
    files = 0
    is_cut = not is_whole
    rest = iter(words)
    for word in rest:
        if word.startswith("# "):
            name, _, value = word[2:].partition(" ")
            headers[name] = value
        elif (told := _read_entry(word, rest)) is not None:
            files += 1
            if files > limit:
                is_cut = True
                break
            staged += told[0]
            unstaged += told[1]
    return Status(
        head=_unless(headers.get("branch.oid"), "(initial)"),
        branch=_unless(headers.get("branch.head"), "(detached)"),
        upstream=headers.get("branch.upstream"),
        staged=tuple(staged),
        unstaged=tuple(unstaged),
        is_cut=is_cut,
    )


def _unless(value: str | None, nothing: str) -> str | None:
    return None if value == nothing else value


def _read_entry(word: str, rest: Iterator[str]) -> tuple[list[ChangeEntry], list[ChangeEntry]] | None:
    """Return (staged, unstaged) of one line; None: it names no file that differs, or its end was cut off."""
    kind = word[:2]
    if kind == "? ":
        return [], [ChangeEntry(word[2:], "?")]
    fields = word.split(" ", _FIELDS.get(kind[:1], 0))
    if kind[1:] != " " or len(fields) != _FIELDS.get(kind[:1], -1) + 1:
        return None
    states, path, is_submodule = fields[1], fields[-1], fields[2].startswith("S")
    if kind == "u ":
        return [], [ChangeEntry(path, "U", None, is_submodule)]
    origin = next(rest, None) if kind == "2 " else None
    if kind == "2 " and origin is None:
        return None
    sides: tuple[list[ChangeEntry], list[ChangeEntry]] = ([], [])
    for side, state in zip(sides, states, strict=False):
        if state != ".":
            side.append(ChangeEntry(path, state, origin if state in "RC" else None, is_submodule))
    return sides
