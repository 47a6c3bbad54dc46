"""Extensions among Python's installed packages: their metadata alone, looked at again when a folder has changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from oulipoly_engine.paths import Paths
from oulipoly_engine.private_files import make_folder, write_private
from oulipoly_engine.records import Record, prepare
from oulipoly_engine.regular_files import read_regular

GROUP = "oulipoly_agent_runner.extensions"
_FILE = "extension-entry-points"


class EntryPoint(Record):
    """One of them, as its package declares it."""

    name: str
    value: str  # `module:factory`
    version: str
    summary: str
    author: str
    place: str  # the folder of its module, or its file; empty: it was not found


class _Kept(Record):
    marks: tuple[tuple[str, int], ...]  # folders of sys.path and when each was changed, in ns
    points: tuple[EntryPoint, ...]


def list_entry_points(paths: Paths) -> tuple[EntryPoint, ...]:
    """Return them. To ask every package takes 10 to 90 ms, so it is done when a folder of sys.path has changed."""
    marks = tuple(_mark_folders())
    file = None if paths.cache is None else paths.cache / _FILE
    if file is not None:
        with suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.msgpack.decode(read_regular(file), type=prepare(_Kept))
            if kept.marks == marks:
                return kept.points
    points = tuple(_search())
    if file is not None:
        with suppress(OSError):
            make_folder(file.parent)
            write_private(file, msgspec.msgpack.encode(_Kept(marks, points)))
    return points


def _mark_folders() -> Iterator[tuple[str, int]]:
    for folder in dict.fromkeys(sys.path):
        with suppress(OSError):
            status = os.stat(folder or ".")  # noqa: PTH116 - a path object for each would take as long
            yield folder, status.st_mtime_ns


def _search() -> Iterator[EntryPoint]:
    from importlib import metadata  # noqa: PLC0415 - 50 ms, only a change of sys.path needs it

    for point in metadata.entry_points(group=GROUP):
        version = summary = author = ""
        if point.dist is not None:
            version = point.dist.version
            about = dict(point.dist.metadata.items())  # type: ignore[attr-defined]  # a message, whatever its stub says
            summary = str(about.get("Summary", ""))
            author = str(about.get("Author", ""))
        yield EntryPoint(point.name, point.value, version, summary, author, _find_place(point.module))


def _find_place(module: str) -> str:
    """Return the folder of a module's package, or its file; nothing is imported."""
    from importlib.util import find_spec  # noqa: PLC0415 - see above

    with suppress(ImportError, ValueError, AttributeError):
        spec = find_spec(module.partition(".")[0])
        if spec is not None and spec.submodule_search_locations:
            return str(next(iter(spec.submodule_search_locations)))
        if spec is not None:
            return spec.origin or ""
    return ""
