"""What a CLI and its driver say to each other, kept for diagnosis where a runtime asks for it; secrets are hidden.

One line a message, as recorded wires are: `dir`, `t` (seconds since the process began), `msg`. Such a file drives the
driver again, in a test for example. What a person has answered is left out of it: the CLI may have asked for a key.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.private_files import make_folder, open_private

_LIMIT = 64 << 20  # bytes; what comes after that is not kept
_HIDDEN = "[REDACTED]"
_SECRET_KEY = re.compile(r"token|secret|password|authorization|api_?key|^answers$", re.IGNORECASE)
_ID_KEY = re.compile(r"(?:^|_)id$|Id$|uuid$")  # what looks drawn there is no secret, and tells what belongs together
_COUNTS = re.compile(r"tokens?$|tokenusage$", re.IGNORECASE)  # numbers of tokens are none of these


def hide_secrets(value: Any, clean: Callable[[str], str], key: str = "") -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a message without what its keys or its texts show to be secret (contract, C.4).

    clean: takes secrets out of a text. key: under which the value stands.
    """
    if isinstance(value, dict):
        hidden = {name: _HIDDEN for name, each in value.items() if _is_secret(name, each)}
        return {name: hidden.get(name) or hide_secrets(each, clean, name) for name, each in value.items()}
    if isinstance(value, list):
        return [hide_secrets(each, clean, key) for each in value]
    if isinstance(value, str):
        return redact(value) if _ID_KEY.search(key) else clean(value)
    return value


def _hide_form(message: Any) -> Any:  # noqa: ANN401 - as above
    """Return a message to the CLI without what a person has filled in; ACP has it in a result's `content`."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or "content" not in result:
        return message
    return {**message, "result": {**result, "content": _HIDDEN}}


def _is_secret(key: object, value: object) -> bool:
    name = str(key)
    if isinstance(value, bool | int | float) or value is None:
        return False
    return _SECRET_KEY.search(name) is not None and not (_COUNTS.search(name) and isinstance(value, dict))


class WireLog:
    """Writes one file."""

    def __init__(self, path: Path, clean: Callable[[str], str]) -> None:
        """Open the file, behind what is in it. clean: takes secrets out of a text. Raises OSError."""
        self._clean = clean
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
                message: Any = hide_secrets(_hide_form(told) if direction == "client->cli" else told, self._clean)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                message = self._clean(line.decode("utf-8", "replace"))
            data = {"dir": direction, "t": round(time.monotonic() - self._began, 3), "msg": message}
            record = msgspec.json.encode(data) + b"\n"
            self._left -= len(record)
            try:
                os.write(self._file, record)
            except OSError:  # a full disk, for example: the session matters more than its log
                self._left = 0
