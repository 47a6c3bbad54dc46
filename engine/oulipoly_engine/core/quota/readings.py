"""What a quota script said: its output checked and turned into windows. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.quota.windows import ParsedWindow
from oulipoly_engine.errors import AdapterOutputInvalid
from oulipoly_engine.records import Record, replace

MAX_WINDOWS = 64  # vendors have two to six; thousands are a broken script, not a quota
_RAW_SHOWN = 300  # characters of a script's output in an error
_RAW_REDACTED = 1 << 16  # how much of it is searched for secrets
_SOURCE_SHOWN = 120  # characters of the script itself
_LABEL_SHOWN = 60
_SHAPES = (
    'it must print one JSON object, {"windows": [{"used_percent": 0..100, "resets_at": RFC 3339}]} '
    'or {"used_percent": …, "resets_at": …}'
)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)

# What the bundled adapters call the vendors' windows; our readings of other sources must say the same.
_DURATION_LABELS = {18_000: "5h-burst", 86_400: "daily", 604_800: "weekly", 2_592_000: "monthly"}
_DURATION_TOLERANCE = 0.05  # vendors round to minutes, and months differ


class HttpFailure(Record):
    """What a usage adapter's stderr tells of the vendor's refusal."""

    status: int
    retry_after_s: int | None  # None: the vendor named no time


def parse_reading(raw: bytes | str, source: str) -> tuple[ParsedWindow, ...]:
    """Read a quota script's output into windows, in the script's order.

    raw: one JSON object, `{"windows": [{"used_percent", "resets_at", "label"?, "limit"?, "remaining"?, "unit"?,
    "window_seconds"?}]}`, or the old one-window form `{"used_percent", "resets_at"}`. Empty `windows` gives an empty
    tuple. `window_seconds` is our own addition: it names a window that has no label.
    source: the script, for messages. Past resets are accepted.
    Raises AdapterOutputInvalid, naming the field and quoting the value, on anything else.
    """
    return _Reader(source, raw).read()


def duration_label(seconds: float) -> str:
    """Return the name of a window of that length: `5h-burst`, `weekly`, …, else `<n>d`, `<n>h` or `<n>m`."""
    for known, label in _DURATION_LABELS.items():
        if abs(seconds - known) <= known * _DURATION_TOLERANCE:
            return label
    for size, unit in ((86_400, "d"), (3600, "h")):
        if seconds >= size:
            return f"{round(seconds / size)}{unit}"
    return f"{max(1, round(seconds / 60))}m"


def http_failure(stderr: str) -> HttpFailure | None:
    """Find the HTTP status and the pause asked for in a usage adapter's stderr; None if it names no status."""
    status = re.search(r"\bHTTP (\d{3})\b", stderr)
    if status is None:
        return None
    pause = re.search(r"\bretry-after:? (\d{1,7})\b", stderr, re.IGNORECASE)
    return HttpFailure(int(status[1]), None if pause is None else int(pause[1]))


class _Reader:
    """One output being read; it remembers the source and the raw text for the messages."""

    def __init__(self, source: str, raw: bytes | str) -> None:
        self._source = source
        self._raw = raw

    def read(self) -> tuple[ParsedWindow, ...]:
        found = self._entries(self._object())
        if len(found) > MAX_WINDOWS:
            self._refuse(f"printed {len(found)} windows, more than the {MAX_WINDOWS} that are read")
        windows = [self._window(position, entry) for position, entry in enumerate(found)]
        return _with_unique_labels(windows)

    def _object(self) -> Mapping[str, object]:
        try:
            text = self._raw.decode("utf-8-sig") if isinstance(self._raw, bytes) else self._raw
            value = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
            if not self._raw.strip():
                self._refuse(f"printed nothing; {_SHAPES}", error, show_raw=False)
            self._refuse(f"did not print valid JSON ({_reason(error)})", error)
        if not isinstance(value, dict):
            self._refuse(f"printed JSON with neither windows nor used_percent; {_SHAPES}")
        return value

    def _entries(self, value: Mapping[str, object]) -> Sequence[object]:
        windows = value.get("windows")
        if isinstance(windows, list):
            return windows
        if windows is not None:
            self._refuse(f"printed a 'windows' that is not a list; {_SHAPES}")
        if value.get("used_percent") is None:
            self._refuse(f"printed JSON with neither windows nor used_percent; {_SHAPES}")
        return (value,)

    def _window(self, position: int, entry: object) -> ParsedWindow:
        where = f"window {position}"
        if not isinstance(entry, dict):
            self._refuse(f"printed a {where} that is not an object; {_SHAPES}")
        label, window_s = self._text(entry, "label", where), self._seconds(entry, where)
        return ParsedWindow(
            position=position,
            used=self._read_used(entry, where),
            resets_at=self._reset(entry, where),
            label=duration_label(window_s) if label is None and window_s is not None else label,
            limit=self._number(entry, "limit", where),
            remaining=self._number(entry, "remaining", where),
            unit=self._text(entry, "unit", where),
            window_s=window_s,
        )

    def _read_used(self, entry: Mapping[str, object], where: str) -> float:
        percent = self._number(entry, "used_percent", where)
        if percent is None:
            self._refuse(f"gave no used_percent for {where}")
        if not 0 <= percent <= 100:
            self._refuse(f"gave used_percent {percent:g} for {where}, which is outside 0..100; it must print percent")
        return percent / 100

    def _reset(self, entry: Mapping[str, object], where: str) -> datetime:
        text = entry.get("resets_at")
        if text is None:
            self._refuse(f"gave no resets_at for {where}; each window needs one as RFC 3339, like 2026-04-23T19:00:00Z")
        if not isinstance(text, str) or _RFC_3339.fullmatch(text) is None:
            self._refuse(f"gave resets_at {_quote(text)} for {where}, which is not an RFC 3339 time")
        try:
            return from_text(text.upper())
        except (ValueError, OverflowError) as error:
            self._refuse(f"gave resets_at {_quote(text)} for {where}: {error}", error)

    def _number(self, entry: Mapping[str, object], key: str, where: str) -> float | None:
        value = entry.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            self._refuse(f"gave {key} {_quote(value)} for {where}, which is not a finite number")
        return value

    def _seconds(self, entry: Mapping[str, object], where: str) -> int | None:
        value = self._number(entry, "window_seconds", where)
        if value is not None and value < 1:
            self._refuse(f"gave window_seconds {value:g} for {where}, which is not a length")
        return None if value is None else int(value)

    def _text(self, entry: Mapping[str, object], key: str, where: str) -> str | None:
        value = entry.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._refuse(f"gave {key} {_quote(value)} for {where}, which is not text")
        return _printable(value)[:_LABEL_SHOWN] or None

    def _refuse(self, fault: str, cause: BaseException | None = None, *, show_raw: bool = True) -> NoReturn:
        raw = f"; it printed: {excerpt(self._raw)}" if show_raw else ""
        raise AdapterOutputInvalid(f"the quota script {excerpt(self._source, _SOURCE_SHOWN)!r} {fault}{raw}") from cause


def excerpt(raw: bytes | str, limit: int = _RAW_SHOWN) -> str:
    """Return the beginning of what a script printed, on one line, without secrets or control characters.

    What looks like a bare token is taken for a secret too: these scripts handle logins, and say what was refused.
    """
    from oulipoly_engine.core.text.redact import redact_strictly  # noqa: PLC0415 - 2 ms, and most runs redact nothing

    # Redacted before it is cut, or a secret that straddles the cut would no longer look like one.
    head = raw[:_RAW_REDACTED]
    text = head.decode("utf-8", "replace") if isinstance(head, bytes) else head
    shown = _printable(redact_strictly(text))
    return shown if len(shown) <= limit and len(head) == len(raw) else f"{shown[:limit]}… ({len(raw)} in all)"


def _printable(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())


def _quote(value: object) -> str:
    return excerpt(json.dumps(value, ensure_ascii=False, default=str), 80)


def _reason(error: BaseException) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg} at line {error.lineno}, column {error.colno}"
        case UnicodeDecodeError():
            return f"byte {error.start} is not UTF-8"
        case RecursionError():
            return "nested too deeply"
        case _:
            return str(error)[:100]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def _with_unique_labels(windows: Sequence[ParsedWindow]) -> tuple[ParsedWindow, ...]:
    """Give repeats of a label a number, `weekly`, `weekly (2)`: a label identifies a window within a reading."""
    seen: set[str] = set()
    unique = []
    for window in windows:
        label, count = window.label, 1
        while label is not None and label in seen:
            count += 1
            label = f"{window.label} ({count})"
        if label is not None:
            seen.add(label)
        unique.append(replace(window, label=label))
    return tuple(unique)
