"""JSON as CLIs write it: a character of which only half is there becomes a mark, not an error. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# Half a character above U+FFFF, as JavaScript writes it when a text was cut there: `\ud83d` without its second half.
_HALF = re.compile(
    r"""(?<!\\)((?:\\\\)*)                                    # behind an even number of backslashes
    (?: \\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])       # a first half without a second one
    | (?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})""",
    re.VERBOSE,
)


def decode(line: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a line holds. Raises ValueError where it is no JSON."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _HALF.sub(r"\1\\ufffd", line.decode("utf-8", "replace"))
        return _decode_mended(mended)
    except RecursionError as error:
        raise _too_deep() from error


def _decode_mended(text: str) -> Any:  # noqa: ANN401 - as above
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise _too_deep() from error


def _too_deep() -> ValueError:
    return ValueError("the JSON is nested too deeply")
