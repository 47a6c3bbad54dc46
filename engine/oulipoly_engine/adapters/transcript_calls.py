"""What tools were called in entries whose bodies tell only that one was: Claude Code writes calls without any text.

Looked up where it stands, by the ids of the few entries that somebody sees; bodies stay as the contract has them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping

from oulipoly_engine.adapters.transcript_file import open_transcript
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts import claude
from oulipoly_engine.core.transcripts.canonical import Line
from oulipoly_engine.core.transcripts.dialogue import Findings, Kind, Part

_MOST = 64 << 20  # bytes of a transcript that are looked at, its last ones: 20 ms
_ARGUMENT = 300  # characters


def read_calls(path: str, entry_ids: Iterable[str]) -> Mapping[str, str]:
    """Return what was called by the ids of entries, as `Bash ls -la`, without secrets. Those not found are left out.

    entry_ids: in the order in which they were written is soonest. A file that is gone or unlike has none.
    """
    content = _read_end(path)
    calls = {}
    at = 0
    for entry_id in entry_ids:
        mark = b'"uuid":%s' % json.dumps(entry_id).encode()
        place = content.find(mark, at)
        if place < 0:
            place = content.find(mark, 0, at)
        if place >= 0:
            at = place
            begin = content.rfind(b"\n", 0, place) + 1
            end = content.find(b"\n", place)
            calls[entry_id] = ", ".join(_name_calls(content[begin : end if end >= 0 else None]))
    return {entry_id: text for entry_id, text in calls.items() if text}


def find_calls(path: str, words: str) -> Iterator[str]:
    """Yield the ids of entries that have called a tool of such a name, or with such an argument, in any case."""
    content = _read_end(path)
    lowered = content.lower()
    wanted = words.casefold()
    longest = max(wanted.split(), key=len, default="").encode()  # a call has all of it, in one line or not
    end = 0
    while longest and (place := lowered.find(longest, end)) >= 0:
        begin = content.rfind(b"\n", 0, place) + 1
        end = content.find(b"\n", place) + 1 or len(content) + 1
        line = content[begin:end]
        if b'"tool_use"' in line and any(wanted in call.casefold() for call in _name_calls(line)):
            yield from (entry.entry_id for entry in claude.dialogue([Line(1, 0, line)], Findings()))


def _read_end(path: str) -> bytes:
    try:
        with open_transcript(path, 0) as file:
            size = os.fstat(file.fileno()).st_size
            return os.pread(file.fileno(), _MOST, max(0, size - _MOST))
    except OSError:
        return b""


def _name_calls(line: bytes) -> Iterator[str]:
    for entry in claude.dialogue([Line(1, 0, line)], Findings()):
        yield from (_name_call(part) for part in entry.parts if part.kind is Kind.CALL)


def _name_call(part: Part) -> str:
    """Return a tool's name and the beginning of its first argument."""
    name, _, value = redact(part.text[: _ARGUMENT * 2]).partition(":")
    line = value.lstrip(" ") if name.isidentifier() else part.text
    first = line if line.startswith("\n") else line.partition("\n")[0]
    return f"{part.label} {' '.join(first.split())[:_ARGUMENT]}".rstrip()
