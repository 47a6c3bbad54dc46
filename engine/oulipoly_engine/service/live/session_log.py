"""The log of one session for people: what its CLI writes to stdout and stderr, redacted, one line a line.

Whole lines are redacted, so that a secret that came in two pieces is found; of a private key, and of what a command
reads from the lines behind it, those lines are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.text.redact import find_closing, redact, strip_breaks
from oulipoly_engine.core.text.secrets.names import NAME_OF_ONE
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.regular_files import open_regular
from oulipoly_engine.service.live.wire.secrets import WireCleaner

_LIMIT = 64 << 20  # bytes a process; what comes after that is not kept
_HIDDEN = "[REDACTED]"
_SHORTEST = 8  # characters of a value of the environment that is taken out wherever it stands
_SECRET_NAME = re.compile(rf"{NAME_OF_ONE}|authorization", re.IGNORECASE)
_MOST_SECRET_LINES = 500  # a text that only names the first line of a key has no last one
_BLOCK = 64 << 10
MOST_LINES = 100_000  # of one look at a log
_MOST_BYTES = 8 << 20


class SessionLog:
    """Writes one file."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        env: Mapping[str, str] | None = None,
        clean: Callable[[str], str] = redact,
    ) -> None:
        """Open the file, behind what is in it. env: of the CLI; the values of its secrets are taken out.

        clean: takes out what else is secret.

        Raises OSError.
        """
        make_folder(path.parent)
        self._file = open_private(path, os.O_WRONLY | os.O_APPEND)
        self._clock, self._clean, self._left = clock, clean, _LIMIT
        self._cleaner = WireCleaner(self._hide, self._hide)
        named = {form for name, value in (env or {}).items() if _SECRET_NAME.search(name) for form in _forms(value)}
        self._secrets = sorted((one for one in named if len(one) >= _SHORTEST), key=len, reverse=True)
        self._closing = ""  # how the last line of a secret begins
        self._secret_lines = 0  # that may still come before it

    def write(self, source: str, line: bytes) -> None:
        """Keep a line. source: out, err, or end for what is said of the process's end."""
        if self._left <= 0:
            return
        text = line.decode("utf-8", "replace")
        if self._secret_lines:
            is_last = strip_breaks(text).strip().startswith(self._closing)
            self._secret_lines = 0 if is_last else self._secret_lines - 1
            return
        self._closing = find_closing(text) or ""
        if self._closing:
            self._secret_lines = _MOST_SECRET_LINES
        if self._closing.startswith("-"):
            text = _HIDDEN
        else:
            text = self._cleaner.clean_line(text) if source == "out" else self._hide(text)
        record = f"{to_text(self._clock.now())} {source} {text.rstrip()}\n".encode()
        self._left -= len(record)
        with contextlib.suppress(OSError):  # a full disk ends no session
            os.write(self._file, record if self._left > 0 else b"the log ends here: it has reached its limit\n")

    def _hide(self, text: str) -> str:
        text = self._clean(text)
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it may stand in a line: its own lines, and as CLIs write it, in JSON, and in JSON in JSON."""
    yield from secret.splitlines()
    for is_ascii in (True, False):
        escaped = secret
        for _depth in range(2):
            escaped = json.dumps(escaped, ensure_ascii=is_ascii)[1:-1]
            yield escaped


def read_tail(path: Path, lines: int) -> str:
    """Return the last lines of a log, at most 8 MiB of them; empty where there is none yet. Raises OSError."""
    try:
        opened = open_regular(path, follows_links=False)
    except FileNotFoundError:
        return ""
    with opened as file:
        end = file.seek(0, os.SEEK_END)
        data, at = b"", end
        while at > 0 and data.count(b"\n") <= lines and len(data) < _MOST_BYTES:
            size = min(_BLOCK, at)
            at -= size
            file.seek(at)
            data = file.read(size) + data
    kept = data.splitlines(keepends=True)
    if at > 0:
        kept = kept[1:]  # it may be a piece of a line
    return b"".join(kept[-lines:] if lines else []).decode("utf-8", "replace")
