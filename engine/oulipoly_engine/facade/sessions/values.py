"""What the facade's part for sessions gives and takes, and how it writes files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record
from oulipoly_engine.service.transcripts.atomic_file import FileExists, new_file

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.sessions import Part
    from oulipoly_engine.core.transcripts.dialogue import PartSelection
    from oulipoly_engine.service.rewrite.replace import Plan

__all__ = ["CANONICAL", "FORMATS", "SUFFIXES", "FileExists"]

CANONICAL = "canonical-jsonl"
FORMATS = ("markdown", "html", CANONICAL)
SESSION_FILES = {"session-v2": 2, "session-v3": 3}  # formats of other tools, and their versions
_SHORT_ID, _LONGEST_ID = 8, 80  # signs of a file's name
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]")
SUFFIXES = {"markdown": "md", "html": "html", CANONICAL: "jsonl"}


class ExportOptions(Record):
    """How a session is written to a file."""

    format: str = "markdown"  # or html, canonical-jsonl
    redacting: bool = True
    tools: bool = False
    thinking: bool = False
    everything: bool = False  # these, and what the CLI put in itself


class Exported(Record):
    """A file that was written."""

    path: Path
    size_bytes: int


class Unpacked(Record):
    """What came of a bundle, or would."""

    session_id: str
    account: str
    folder: Path  # where it goes on
    files: int
    was_known: bool  # a session here has had this one already
    warnings: tuple[str, ...] = ()


class Import(Record):
    """A file of canonical lines that was read, and what it would do."""

    session: ResolvedSession
    path: Path
    plan: Plan
    lines: bytes = b""


def file_names(parts: Sequence[Part], suffix: str) -> tuple[str, ...]:
    """Return a file name for each session, no two alike: as much of its id as tells it from the others.

    The ids of Codex begin with the time, so that their first eight signs are often the same. A copy on another account
    has the same id; some disks take upper and lower case for the same.
    """
    names = [_plain_name(part.session_id)[:_SHORT_ID] for part in parts]
    longer = [_plain_name(part.session_id) for part in parts]
    longest = [f"{name}-{_plain_name(part.account)}" for name, part in zip(longer, parts, strict=True)]
    for wider in (longer, longest, [f"{name}-{number}" for number, name in enumerate(longest, 1)]):
        counts = Counter(name.casefold() for name in names)
        names = [wide if counts[name.casefold()] > 1 else name for name, wide in zip(names, wider, strict=True)]
    return tuple(f"{name}.{suffix}" for name in names)


def _plain_name(text: str) -> str:
    return _UNNAMEABLE.sub("-", text)[:_LONGEST_ID].lstrip(".-") or "session"


def choose_parts(wish: ExportOptions) -> PartSelection:
    """Return what of a session a document shows."""
    from oulipoly_engine.core.transcripts.dialogue import EVERYTHING, PartSelection  # noqa: PLC0415 - only documents need it

    return EVERYTHING if wish.everything else PartSelection(tools=wish.tools, thinking=wish.thinking)


def limit_blocks(blocks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Yield so many bytes at most."""
    left = most
    for block in blocks:
        yield block[:left]
        left -= len(block)
        if left <= 0:
            return


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into a RunnerError that names the file."""
    try:
        yield
    except OSError as error:
        raise RunnerError(f"{path} cannot be written: {error.strerror or error}") from error


def write_file(path: Path, blocks: Iterator[bytes], *, force: bool) -> Exported:
    """Write a file, whole or not at all. Raises FileExists unless it may be replaced."""
    with translate_disk_errors(path), new_file(path, force=force) as file:
        file.writelines(blocks)
    return Exported(path, path.stat().st_size)
