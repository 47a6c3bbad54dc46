"""Lines that another tool wrote with spaces between JSON's signs, brought into the form that the CLIs write. Pure.

The readers look for a few bytes of that form and decode only lines that hold them: an editor that wrote a transcript
anew as `{"type": "assistant", ...` would hide all its calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

_SPACED = re.compile(rb'\s*\{(?:\s|"[^"\\]{0,64}"(?:\s|:\s))')


def in_own_form(
    take: Callable[[bytearray, int, int, int], None], buffer: bytearray, begin: int, end: int, offset: int
) -> None:
    """Hand whole lines to a reader as they are, or one by one without such spaces.

    take: gets a buffer, where the lines in it begin and end, and the place in the file of their first byte.
    """
    if not _is_spaced(buffer, begin, end):
        take(buffer, begin, end, offset)
        return
    for at, line in _compact_lines(buffer, begin, end):
        take(line, 0, len(line), offset + at - begin)


def _is_spaced(buffer: bytearray, begin: int, end: int) -> bool:
    """Tell whether whole lines hold such a form, by the first and the last of them: a CLI may have gone on behind it.

    A single line amid many, edited by hand, is not noticed.
    """
    last = buffer.rfind(b"\n", begin, max(begin, end - 1)) + 1 or begin
    return any(_SPACED.match(buffer, at, end) is not None for at in (begin, last))


def _compact_lines(buffer: bytearray, begin: int, end: int) -> Iterator[tuple[int, bytearray]]:
    """Yield the lines without those spaces, and where each begins; one that is not JSON comes as it is."""
    while begin < end:
        stop = buffer.find(b"\n", begin, end) + 1 or end
        line = bytes(buffer[begin:stop])
        try:
            yield begin, bytearray(msgspec.json.format(line, indent=-1))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            yield begin, bytearray(line)
        begin = stop
