"""What a CLI and its driver say to each other, kept for diagnosis where a runtime asks for it; secrets are hidden.

One line a message, as recorded wires are: `dir`, `t` (seconds since the process began), `msg`. Such a file drives the
driver again, in a test for example.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.private_files import make_folder, open_private

_LIMIT = 64 << 20  # bytes; what comes after that is not kept
_HIDDEN = "[REDACTED]"
_SECRET_KEY = re.compile(r"token|secret|password|authorization|api_?key", re.IGNORECASE)
_COUNTS = re.compile(r"tokens?$|tokenusage$", re.IGNORECASE)  # numbers of tokens are none of these


def hide_secrets(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a message without what its keys or its texts show to be secret (contract, C.4)."""
    if isinstance(value, dict):
        return {key: _HIDDEN if _is_secret(key, each) else hide_secrets(each) for key, each in value.items()}
    if isinstance(value, list):
        return [hide_secrets(each) for each in value]
    return redact(value) if isinstance(value, str) else value


def _is_secret(key: object, value: object) -> bool:
    name = str(key)
    if isinstance(value, bool | int | float) or value is None:
        return False
    return _SECRET_KEY.search(name) is not None and not (_COUNTS.search(name) and isinstance(value, dict))


class WireLog:
    """Writes one file."""

    def __init__(self, path: Path) -> None:
        """Open the file, behind what is in it. Raises OSError."""
        make_folder(path.parent)
        self._file = open_private(path, os.O_WRONLY | os.O_APPEND)
        self._began = time.monotonic()
        self._left = _LIMIT

    def write(self, direction: str, lines: bytes) -> None:
        """Keep lines. direction: `client->cli` or `cli->client`."""
        for line in lines.splitlines():
            if self._left <= 0 or not line.strip():
                continue
            try:
                message: Any = hide_secrets(msgspec.json.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                message = redact(line.decode("utf-8", "replace"))
            data = {"dir": direction, "t": round(time.monotonic() - self._began, 3), "msg": message}
            record = msgspec.json.encode(data) + b"\n"
            self._left -= len(record)
            os.write(self._file, record)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
