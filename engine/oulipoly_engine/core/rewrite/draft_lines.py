"""A transcript as a draft: some lines are changed, removed or added, and all others stay as bytes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from oulipoly_engine.core.text.json_splice import Path, to_json, with_values
from oulipoly_engine.core.transcripts.canonical import scan

_RAW_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def raw_lines(data: bytes) -> list[bytes]:
    """Return a transcript's lines, each with its LF, as a binary file yields them."""
    return _RAW_LINE.findall(data)


class Draft:
    """The lines of a transcript, by their number from 1, and what becomes of them."""

    def __init__(self, data: bytes) -> None:
        self._raw = raw_lines(data)
        self._removed: set[int] = set()
        self._before: dict[int, list[bytes]] = {}

    @property
    def end(self) -> int:
        """Return the number just behind the last line, before which an appended one is inserted."""
        return len(self._raw) + 1

    def documents(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (number, object) of every line that is not blank, as the lines are now; removed ones too."""
        for line in scan(self._raw):
            yield line.number, json.loads(line.data)

    def text(self, number: int) -> str:
        """Return a line as it is now, without its end."""
        return next(scan([self._raw[number - 1]])).data.decode("utf-8")

    def change(self, number: int, values: Mapping[Path, str]) -> None:
        """Put other values into a line's object. Raises KeyError for a place that it does not have."""
        if not values:
            return
        text = self.text(number)
        raw = self._raw[number - 1]
        start = raw.index(text.encode("utf-8"))
        changed = with_values(text, values).encode("utf-8")
        self._raw[number - 1] = raw[:start] + changed + raw[start + len(text.encode("utf-8")) :]

    def remove(self, number: int) -> None:
        """Take a line away."""
        self._removed.add(number)

    def insert(self, before: int, document: Mapping[str, object]) -> None:
        """Put an object before a line, behind those that were put there already."""
        self._before.setdefault(before, []).append(to_json(document).encode("utf-8"))

    def data(self) -> bytes:
        """Return the transcript's bytes."""
        out: list[bytes] = []
        for number in range(1, self.end + 1):
            for added in self._before.get(number, ()):
                if out and not out[-1].endswith(b"\n"):
                    out[-1] += b"\n"
                out.append(added + b"\n")
            if number < self.end and number not in self._removed:
                out.append(self._raw[number - 1])
        return b"".join(out)
