"""Regular expressions that are compiled when they are first used. Pure.

A module with twenty of them costs 15 to 20 ms to import, and most runs redact nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class LatePattern:
    """A pattern for texts, as `re.compile` gives one."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Return the pattern itself."""
        return re.compile(self._pattern, self._flags)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return a text with every match replaced."""
        return self.compiled.sub(replacement, text)

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """Return the first match between two places."""
        return self.compiled.search(text, start, len(text) if end is None else end)

    def match(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """Return the match that begins where the text does, or at `start`."""
        return self.compiled.match(text, start, len(text) if end is None else end)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match that is the whole text."""
        return self.compiled.fullmatch(text)

    def findall(self, text: str) -> list[str]:
        """Return every match, or its only group."""
        found: list[str] = self.compiled.findall(text)
        return found

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        """Yield every match from a place on."""
        return self.compiled.finditer(text, start)
