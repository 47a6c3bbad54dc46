"""What a CLI and its driver say to each other, kept for diagnosis where a runtime asks for it; secrets are hidden.

One line a message, as recorded wires are: `dir`, `t` (seconds since the process began), `msg`. Such a file drives the
driver again, in a test for example. What a person has answered is left out of it: the CLI may have asked for a key.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.worktrees.event_secrets import TextStream
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.service.live.wire.secrets import WireCleaner

_LIMIT = 64 << 20  # bytes; what comes after that is not kept
_HIDDEN = "[REDACTED]"


def _hide_form(message: Any) -> Any:  # noqa: ANN401 - as above
    """Return a message to the CLI without what a person has filled in; ACP has it in a result's `content`."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or "content" not in result:
        return message
    return {**message, "result": {**result, "content": _HIDDEN}}


class WireLog:
    """Writes one file."""

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        """Open the file, behind what is in it. clean: takes secrets out of a text. Raises OSError."""
        self._cleaners = {direction: WireCleaner(clean, redact) for direction in ("client->cli", "cli->client")}
        self._plain = TextStream(clean)  # lines that are not JSON: a key has several
        make_folder(path.parent)
        self._file = open_private(path, os.O_WRONLY | os.O_APPEND)
        self._began = time.monotonic()
        self._left = _LIMIT

    def write(self, direction: str, lines: bytes) -> None:
        """Keep lines; nothing more once that fails. direction: `client->cli` or `cli->client`."""
        for line in lines.splitlines():
            if self._left <= 0 or not line.strip():
                continue
            try:
                told = msgspec.json.decode(line)
                shown = _hide_form(told) if direction == "client->cli" else told
                message: Any = self._cleaners[direction].clean(shown)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                message = self._plain.feed(line.decode("utf-8", "replace") + "\n").removesuffix("\n")
            data = {"dir": direction, "t": round(time.monotonic() - self._began, 3), "msg": message}
            record = msgspec.json.encode(data) + b"\n"
            self._left -= len(record)
            try:
                os.write(self._file, record)
            except OSError:  # a full disk, for example: the session matters more than its log
                self._left = 0
