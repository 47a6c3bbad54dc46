"""Read the CLI's session id out of its stdout while it streams by. Pure: bytes in, one outcome out.

Readers hold at most one unfinished line, and that only up to LONGEST_LINE: a CLI may print a whole image as one line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

LONGEST_LINE = 8 * 1024 * 1024  # bytes; the events that carry an id are a few kilobytes at most

Method = Literal["none", "forced_flag_verified", "stdout_json_event", "failed"]


@dataclass(frozen=True, slots=True)
class CaptureOutcome:
    """What capturing came to."""

    session_id: str | None  # the CLI's own id; None unless it was learned
    method: Method
    error: str | None = None  # one sentence, when the method is "failed"


NOT_ASKED = CaptureOutcome(None, "none")


class _LineFeed:
    """Cut a byte stream into lines, dropping those that are too long."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes."""
        *complete, rest = chunk.split(b"\n")
        lines = []
        for part in complete:
            self._append(part)
            if not self._skipping:
                lines.append(bytes(self._pending))
            self._reset()
        self._append(rest)
        return lines

    def finish(self) -> list[bytes]:
        """Return the last line when no newline ended it."""
        line = bytes(self._pending)
        self._reset()
        return [line] if line else []

    def _append(self, part: bytes) -> None:
        if self._skipping or len(self._pending) + len(part) > LONGEST_LINE:
            self._reset()
            self._skipping = True
        else:
            self._pending += part

    def _reset(self) -> None:
        self._pending = bytearray()
        self._skipping = False


class _EventReader:
    """Offer each JSON object line to `_take` until that gives an outcome."""

    def __init__(self) -> None:
        self._lines = _LineFeed()
        self._outcome: CaptureOutcome | None = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of stdout, cut anywhere."""
        if self._outcome is None:
            self._offer(self._lines.feed(chunk))

    def finish(self) -> CaptureOutcome:
        """Return the outcome, once stdout has ended; may be asked again."""
        if self._outcome is None:
            self._offer(self._lines.finish())
        if self._outcome is None:
            self._outcome = CaptureOutcome(None, "failed", self._nothing_came())
        return self._outcome

    def _offer(self, lines: list[bytes]) -> None:
        for line in lines:
            event = _event(line)
            if event is not None and self._outcome is None:
                self._outcome = self._take(event)

    def _take(self, event: Mapping[str, object]) -> CaptureOutcome | None:
        raise NotImplementedError

    def _nothing_came(self) -> str:
        raise NotImplementedError


class ForcedFlagReader(_EventReader):
    """Verify that the CLI took the id we gave it: its first `system/init` or `result` event must show the same."""

    def __init__(self, expected_id: str) -> None:
        super().__init__()
        self._expected = expected_id

    def _take(self, event: Mapping[str, object]) -> CaptureOutcome | None:
        is_opening = event.get("type") == "system" and event.get("subtype") == "init"
        reported = event.get("session_id")
        if not (is_opening or event.get("type") == "result") or not isinstance(reported, str) or not reported:
            return None
        if reported.lower() == self._expected.lower():
            return CaptureOutcome(self._expected, "forced_flag_verified")
        return CaptureOutcome(
            None, "failed", f"asked for session id {self._expected}, but the CLI reported {reported[:80]!r}"
        )

    def _nothing_came(self) -> str:
        return (
            f"asked for session id {self._expected}, but the CLI printed no `system`/`init` or `result` event with a"
            " session_id: check readback_args"
        )


class JsonEventReader(_EventReader):
    """Take the id from the first event of a type.

    event_id_path: keys from the event's top to the id.
    """

    def __init__(self, event_type: str, event_id_path: tuple[str, ...]) -> None:
        super().__init__()
        self._type = event_type
        self._path = event_id_path

    def _take(self, event: Mapping[str, object]) -> CaptureOutcome | None:
        if event.get("type") != self._type:
            return None
        value: object = event
        for key in self._path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return CaptureOutcome(value, "stdout_json_event")
        path = ".".join(self._path)
        return CaptureOutcome(None, "failed", f"the event {self._type!r} has no text at {path!r}: check event_id_path")

    def _nothing_came(self) -> str:
        return f"the CLI printed no JSON event of type {self._type!r}: check json_args and event_type"


def _event(line: bytes) -> dict[str, object] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
