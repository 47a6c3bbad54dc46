"""A unified diff of one file as git prints it: its hunks, and patches of one hunk or of some of its lines. Pure.

Everything is bytes: a file that git takes for text need not be UTF-8.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from oulipoly_engine.records import Record, replace

_RANGES = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)", re.DOTALL)
_OF_WHOLE_FILE = (b"old mode ", b"new mode ", b"similarity index ", b"rename ", b"copy ")
_BINARY = (b"Binary files ", b"GIT binary patch")


class Hunk(Record):
    """Lines that changed, with those around them."""

    old_start: int  # counted from 1; 0 where there are no lines before
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]  # without their ends; each begins with a blank, `+`, `-` or `\`
    section: bytes = b""  # what git says behind the ranges

    @property
    def header(self) -> bytes:
        """Return its first line."""
        old, new = f"{self.old_start},{self.old_count}", f"{self.new_start},{self.new_count}"
        return f"@@ -{old} +{new} @@".encode() + self.section

    @property
    def digest(self) -> str:
        """Return what names this hunk as long as the file does not change there."""
        whole = b"\n".join((self.header, *self.lines))
        return hashlib.sha256(whole).hexdigest()[:16]


class Patch(Record):
    """The diff of one file."""

    header: tuple[bytes, ...] = ()  # the lines before the first hunk
    hunks: tuple[Hunk, ...] = ()
    is_binary: bool = False


class PatchUnreadable(ValueError):
    """A diff does not have git's form."""


def parse_patch(data: bytes) -> Patch:
    """Read the diff of one file. Raises PatchUnreadable where a hunk has other lines than it says."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    first = next((number for number, line in enumerate(lines) if line.startswith(b"@@ ")), len(lines))
    header = tuple(lines[:first])
    hunks = []
    place = first
    while place < len(lines):
        hunk, place = _read_hunk(lines, place)
        hunks.append(hunk)
    return Patch(header, tuple(hunks), any(line.startswith(_BINARY) for line in header))


def _read_hunk(lines: list[bytes], place: int) -> tuple[Hunk, int]:
    found = _RANGES.fullmatch(lines[place])
    if found is None:
        raise PatchUnreadable(f"line {place + 1} does not begin a hunk")
    old_start, new_start = int(found[1]), int(found[3])
    old_count, new_count = (1 if found[group] is None else int(found[group]) for group in (2, 4))
    old, new, end = old_count, new_count, place + 1
    while end < len(lines) and (old > 0 or new > 0 or lines[end].startswith(b"\\")):
        kind = lines[end][:1]
        if kind not in (b" ", b"+", b"-", b"\\"):
            raise PatchUnreadable(f"line {end + 1} has no place in a hunk")
        old -= kind in (b" ", b"-")
        new -= kind in (b" ", b"+")
        end += 1
    if old or new:
        raise PatchUnreadable(f"the hunk at line {place + 1} has other lines than it says")
    return Hunk(old_start, old_count, new_start, new_count, tuple(lines[place + 1 : end]), found[5]), end


def select_lines(hunk: Hunk, chosen: Collection[int], *, reverse: bool) -> Hunk | None:
    """Return a hunk that makes only some of its changes; None: it would change nothing.

    chosen: places in `lines`. reverse: it will be taken back from a file that has all of its changes.
    """
    kept: list[bytes] = []
    stays, goes = (b"+", b"-") if reverse else (b"-", b"+")  # a change not made: this line stays, that one is not there
    has_gone = False
    for place, line in enumerate(hunk.lines):
        kind = line[:1]
        if kind == b"\\":
            kept += [] if has_gone else [line]
            continue
        has_gone = False
        if kind == b" " or place in chosen:
            kept.append(line)
        elif kind == stays:
            kept.append(b" " + line[1:])
        elif kind == goes:
            has_gone = True
    if not any(line[:1] in (b"+", b"-") for line in kept):
        return None
    old = sum(line[:1] in (b" ", b"-") for line in kept)
    new = sum(line[:1] in (b" ", b"+") for line in kept)
    return replace(hunk, lines=tuple(kept), old_count=old, new_count=new)


def patch_of_hunk(patch: Patch, hunk: Hunk, *, reverse: bool) -> bytes:
    """Return a patch with this hunk alone, for `git apply`, whose place is exact on the side that it is applied to.

    reverse: it will be applied with `--reverse`. Without its neighbours the lines of the other side stand elsewhere.
    """
    if reverse:
        hunk = replace(hunk, old_start=_other_start(hunk.new_start, hunk.new_count, hunk.old_count))
    else:
        hunk = replace(hunk, new_start=_other_start(hunk.old_start, hunk.old_count, hunk.new_count))
    header = [line for line in patch.header if not line.startswith(_OF_WHOLE_FILE)]
    return b"\n".join((*header, hunk.header, *hunk.lines, b""))


def _other_start(start: int, count: int, other_count: int) -> int:
    """Return where the other side begins: a side without lines is named by the line before it."""
    return start + (count == 0) - (other_count == 0)


def added_file(path: bytes, content: bytes, *, is_executable: bool = False) -> bytes:
    """Return the diff of a file that is not tracked, as git would print it."""
    name, mode = quote_path(b"b/" + path), b"100755" if is_executable else b"100644"
    head = [b"diff --git " + quote_path(b"a/" + path) + b" " + name, b"new file mode " + mode]
    if not content:
        return b"\n".join((*head, b""))
    lines = content.split(b"\n")
    ends = [b"\\ No newline at end of file"] if lines[-1] else []
    if not lines[-1]:
        lines.pop()
    tail = b"\t" if b" " in path and not name.startswith(b'"') else b""  # git's mark of where a name ends
    head += [
        b"--- /dev/null",
        b"+++ " + name + tail,
        b"@@ -0,0 +1%s @@" % (b"" if len(lines) == 1 else b",%d" % len(lines)),
    ]
    return b"\n".join((*head, *(b"+" + line for line in lines), *ends, b""))


_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}


def quote_path(path: bytes) -> bytes:
    """Return a name as git writes it in a patch: in quotes, with escapes, where a sign could mislead."""
    shown = b"".join(_ESCAPES.get(sign) or (bytes((sign,)) if 32 <= sign < 127 else b"\\%03o" % sign) for sign in path)
    return path if shown == path else b'"' + shown + b'"'
