"""Transcript files of one JSON object a line: read with patience for damage, appended to in one write."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # `json.dumps` makes an encoder a record


def read(path: Path) -> list[dict[str, Any]]:
    """Return the file's objects in order; blank, garbled and cut-off lines are skipped, as both vendors do."""
    records = []
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def append(path: Path, records: Iterable[Mapping[str, Any]], *, new: bool = False) -> None:
    """Add records at the file's end with a single write, so that two writers never mix their lines.

    new: the file must not exist yet (FileExistsError otherwise). An unfinished last line is closed first.
    """
    raw = b"".join(_encode(record).encode("utf-8", "replace") + b"\n" for record in records)
    if new:
        path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (os.O_EXCL if new else 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            raw = b"\n" + raw
        view = memoryview(raw)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
