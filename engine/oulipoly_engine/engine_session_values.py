"""What the facade's part for sessions gives and takes, and how it writes files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.resolve import ResolvedSession
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.events import Event
from oulipoly_engine.service.new_file import new_file

if TYPE_CHECKING:
    from oulipoly_engine.core.dialogue import Wanted
    from oulipoly_engine.service.replace import Plan

FORMATS = ("markdown", "html", "canonical-jsonl")
SUFFIXES = {"markdown": "md", "html": "html", "canonical-jsonl": "jsonl"}


@dataclass(frozen=True, slots=True)
class SessionsChanged(Event):
    """We have changed what a list of conversations says."""


@dataclass(frozen=True, slots=True)
class ExportWish:
    """How a conversation is written to a file."""

    format: str = "markdown"  # or html, canonical-jsonl
    redacting: bool = True
    tools: bool = False
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was written."""

    path: Path
    size_bytes: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Import:
    """A file of canonical lines that was read, and what it would do."""

    session: ResolvedSession
    path: Path
    plan: Plan
    lines: bytes = field(repr=False, default=b"")


def wanted(wish: ExportWish) -> Wanted:
    """Return what of a conversation a document shows."""
    from oulipoly_engine.core.dialogue import TALK  # noqa: PLC0415 - only documents need it

    return replace(TALK, tools=wish.tools, thinking=wish.thinking)


def limited(blocks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """Yield so many bytes at most."""
    left = most
    for block in blocks:
        yield block[:left]
        left -= len(block)
        if left <= 0:
            return


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into a RunnerError that names the file."""
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise RunnerError(message) from error


def written(path: Path, blocks: Iterator[bytes], *, force: bool) -> Exported:
    """Write a file, whole or not at all. Raises FileExists unless it may be replaced."""
    with refused(path), new_file(path, force=force) as file:
        file.writelines(blocks)
    return Exported(path, path.stat().st_size)
