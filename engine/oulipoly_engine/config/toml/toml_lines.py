"""Where each key of a TOML text stands. Pure.

tomllib gives values without their places, and tomlkit, which has them, takes twenty times as long. The text is known
to be valid when it comes here, so this scanner only has to find its way, not to check.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from oulipoly_engine.config.base.problem import KeyPath

_BLANK = re.compile(r"[ \t\r\n]*(?:#[^\n]*[ \t\r\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\"]|\\[\s\S]|"(?!""))*"{3,5}' r"|'''(?:[^']|'(?!''))*'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def index(text: str) -> Mapping[KeyPath, int]:
    """Map every key of a valid TOML text to its line, from 1; list items count from 0.

    Best effort: what the scanner cannot follow, it leaves out.
    """
    scanner = _Scanner(text)
    with contextlib.suppress(_Lost, RecursionError):  # a missing line makes a message less handy, never wrong
        scanner.document()
    return scanner.lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a key, else of the nearest table around it; None when there is none."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


class _Lost(Exception):
    """The text is not what the scanner expects."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}  # tables seen so far of each array of tables
        self.counted_to = 0
        self.line = 1

    def document(self) -> None:
        table: KeyPath = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)

    def header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 2 if is_array else 1
        self.skip(_BLANK)
        path = self.place(self.key(), last=not is_array)
        self.skip(_BLANK)
        self.expect("]]" if is_array else "]")
        if is_array:
            self.mark(path, start)
            number = self.counts[path] = self.counts.get(path, -1) + 1
            path = (*path, number)
        self.mark(path, start)
        return path

    def place(self, key: tuple[str, ...], *, last: bool) -> KeyPath:
        """Point through arrays of tables at their newest table, as TOML does."""
        path: KeyPath = ()
        for position, part in enumerate(key):
            path = (*path, part)
            if path in self.counts and (last or position < len(key) - 1):
                path = (*path, self.counts[path])
        return path

    def pair(self, table: KeyPath) -> None:
        start = self.at
        key = self.key()
        for end in range(1, len(key) + 1):
            self.mark((*table, *key[:end]), start)
        self.skip(_BLANK)
        self.expect("=")
        self.skip(_BLANK)
        self.value((*table, *key))

    def key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            quoted = self.text.startswith(('"', "'"), self.at)
            part = self.take(_STRING if quoted else _BARE_KEY)
            parts.append(_unquote(part) if quoted else part)
            if not self.skip(_DOT):
                return tuple(parts)

    def value(self, path: KeyPath) -> None:
        match self.text[self.at : self.at + 1]:
            case "[":
                self.members(path, "]")
            case "{":
                self.members(path, "}")
            case '"' | "'":
                self.take(_STRING)
            case _:
                self.take(_SCALAR)

    def members(self, path: KeyPath, end: str) -> None:
        self.at += 1
        number = 0
        self.skip(_BLANK)
        while not self.text.startswith(end, self.at):
            if end == "}":
                self.pair(path)
            else:
                self.mark((*path, number), self.at)
                self.value((*path, number))
                number += 1
            self.skip(_BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self.skip(_BLANK)
            elif not self.text.startswith(end, self.at):
                raise _Lost
        self.at += 1

    def mark(self, path: KeyPath, position: int) -> None:
        self.line += self.text.count("\n", self.counted_to, position)
        self.counted_to = max(self.counted_to, position)
        self.lines.setdefault(path, self.line)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Lost
        self.at = match.end()
        return match.group()

    def skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return True

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise _Lost
        self.at += len(mark)


def _unquote(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    return _ESCAPE.sub(lambda match: _unescape(match.group(1)), part[1:-1])


def _unescape(code: str) -> str:
    return chr(int(code[1:], 16)) if code[0] in "uU" else _ESCAPED.get(code, code)
