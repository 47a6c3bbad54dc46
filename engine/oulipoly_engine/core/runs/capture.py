"""Read the CLI's session id out of its stdout while it streams by. Pure: bytes in, one outcome out.

Readers hold at most one unfinished line, and that only up to LONGEST_LINE: a CLI may print a whole image as one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

from oulipoly_engine.core.accounts.session_ids import describe_bad_id, is_session_id
from oulipoly_engine.core.runs.invocations import CaptureOutcome

LONGEST_LINE = 8 * 1024 * 1024  # bytes; the events that carry an id are a few kilobytes at most

_OPENING = 64 << 10  # bytes of each stream in which a CLI names its session
_BANNER = re.compile(rb"(?:\x1b\[[0-9;]*m)*session id:(?:\x1b\[[0-9;]*m)* ?([0-9A-Za-z_-]{8,64})\s*$")

_CONTROL = re.compile(rb"\x1b(?:\[[0-9;?<>=]{0,24}[A-Za-z]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\\\)|.)|[\r\x00]")
_LAST_WORDS = re.compile(
    rb"(?:--resume|\bresume|-s) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|ses_[0-9A-Za-z]{8,40})\s"
)


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
            self._outcome = CaptureOutcome(None, "failed", self._explain_absence())
        return self._outcome

    def _offer(self, lines: list[bytes]) -> None:
        for line in lines:
            event = _event(line)
            if event is not None and self._outcome is None:
                self._outcome = self._take(event)

    def _take(self, event: Mapping[str, object]) -> CaptureOutcome | None:
        raise NotImplementedError

    def _explain_absence(self) -> str:
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

    def _explain_absence(self) -> str:
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
        path = ".".join(self._path)
        if isinstance(value, str) and value:
            if is_session_id(value):
                return CaptureOutcome(value, "stdout_json_event")
            return CaptureOutcome(None, "failed", f"the event {self._type!r} at {path!r}: {describe_bad_id(value)}")
        return CaptureOutcome(None, "failed", f"the event {self._type!r} has no text at {path!r}: check event_id_path")

    def _explain_absence(self) -> str:
        return f"the CLI printed no JSON event of type {self._type!r}: check json_args and event_type"


class ResumedIdReader:
    """Notice that a CLI has opened another session than the one it was asked to resume, as soon as it says so.

    Codex starts a new thread without a word when it does not take an id (0.60 to 0.169, seen 2026-11); its banner on
    stderr and its first event name the thread. Only the beginning of each stream is looked at.
    """

    def __init__(self, expected_id: str) -> None:
        self._expected = expected_id.lower()
        self._streams = {"stdout": (_LineFeed(), _find_id_in_event), "stderr": (_LineFeed(), _find_id_in_banner)}
        self._left = dict.fromkeys(self._streams, _OPENING)
        self.reported: str | None = None  # the first id that the CLI named

    def feed(self, stream: Literal["stdout", "stderr"], chunk: bytes) -> str | None:
        """Take the next bytes of a stream and return the other session's id, once it is known."""
        if self.reported is None and self._left[stream] > 0:
            self._left[stream] -= len(chunk)
            lines, reader = self._streams[stream]
            found = (reader(line) for line in lines.feed(chunk))
            self.reported = next((name for name in found if name is not None), None)
        return self.other

    @property
    def other(self) -> str | None:
        """Return the id that was reported, unless it is the expected one."""
        return self.reported if self.reported is not None and self.reported.lower() != self._expected else None


def _find_id_in_event(line: bytes) -> str | None:
    event = _event(line)
    if event is None:
        return None
    name: object = None
    if event.get("type") == "thread.started":
        name = event.get("thread_id")
    elif event.get("type") == "result" or (event.get("type") == "system" and event.get("subtype") == "init"):
        name = event.get("session_id")
    return name if isinstance(name, str) and name else None


def _find_id_in_banner(line: bytes) -> str | None:
    found = _BANNER.match(line)
    return None if found is None else found[1].decode("ascii")


def read_last_words(tail: bytes) -> str | None:
    """Return the session that an interactive CLI named with its last words; None when it named none.

    claude: `claude --resume ID`, codex: `codex resume ID`, opencode: `opencode -s ID`, gemini: `gemini --resume ID`
    (seen 2026-11).
    """
    found = _LAST_WORDS.findall(_CONTROL.sub(b" ", tail))
    return found[-1].decode("ascii") if found else None


def _event(line: bytes) -> dict[str, object] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
