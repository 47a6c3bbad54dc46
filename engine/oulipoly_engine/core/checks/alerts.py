"""What wants a person, or what they may want to know: one record for every face and every way of telling. Pure.

Kinds: `configuration`, `quota` (it cannot be read), `login`, `run`, `state`, `disk` (nearly full); `window` (almost
used up), `at-risk` (sessions that a CLI deletes), `request` (a session asks), `terminal` (it rings).
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from oulipoly_engine.core.text.quantities import duration
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.core.quota.alerts import WindowAlert

_NOTICE = "alert-"  # begins the ids of notices that are not of requests
_WORDS = {"user_input": "asks", "command_approval": "wants to run", "file_change_approval": "wants to change"}
_LONGEST, _LONGEST_NAME = 160, 60  # characters


class Severity(StrEnum):
    """Whether it wants a person."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"  # it does not: it stands in lists of what is wrong, and is neither counted nor told


class Alert(Record):
    """One thing."""

    kind: str
    head: str  # what it is, enough for a status line; no full stop, instants in UTC
    rest: str = ""  # what else there is to say of it
    fix: str = ""  # what to do
    subject: str = ""  # file and line, account, session, or terminal
    cause: str = ""  # tells it from others of its kind and subject, whatever the text is by now
    severity: Severity = Severity.WARNING
    since: datetime | None = None  # of a broken file: when what stands in for it was read; None: nothing does
    due: datetime | None = None  # when a window runs out, or the first session is deleted
    count: int = 1  # of sessions at risk

    @property
    def text(self) -> str:
        """Return it as one sentence."""
        return f"{self.head}, {self.rest}" if self.rest else self.head

    @property
    def is_error(self) -> bool:
        """Tell whether something does not work."""
        return self.severity is Severity.ERROR

    @property
    def notice_id(self) -> str:
        """Return what a notice of it is known by outside; of a request it is the request's own."""
        if self.kind == "request":
            return self.cause
        digest = hashlib.sha256("\0".join(self.identity).encode("utf-8", "replace"))
        return f"{_NOTICE}{digest.hexdigest()[:24]}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """Return what stays the same as long as it is the same thing."""
        return self.kind, self.subject, self.cause


def is_of_alert(notice_id: str) -> bool:
    """Tell whether a notice is of something else than a request, which never comes again once it is settled."""
    return notice_id.startswith(_NOTICE)


def of_window(alert: WindowAlert) -> Alert:
    """Return that a window is almost used up, or will be."""
    return Alert("window", alert.head, alert.rest, subject=alert.account, cause=alert.window, due=alert.dry_at)


def of_risk(account: str, count: int, chain_id: str, due: datetime, now: datetime) -> Alert:
    """Return that an account's CLI deletes sessions. chain_id: of the first one. due: when that one goes."""
    many, when = count != 1, "now" if due <= now else f"in {duration(due - now)}"
    return Alert(
        "at-risk",
        f"{count} session{'s' * many} of {account} at risk",
        f"{'first ' * many}{when}, not archived",
        f"A keeps {'them' if many else 'it'}",
        account,
        chain_id,
        due=due,
        count=count,
    )


def of_request(request: LiveRequest, session: str) -> Alert:
    """Return that somebody asks; secrets are hidden, and hidden characters are shown as signs. session: its name."""
    name = to_line(session)[:_LONGEST_NAME] or request.asker_name or "a session"
    line = f"{name} {_WORDS.get(request.kind, 'asks for')}: {to_line(request.prompt.title)}"
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return Alert("request", line, subject=request.session_id, cause=request.request_id)


def to_line(text: str) -> str:
    """Return a text as one line for wherever it is told: secrets hidden, hidden characters as signs."""
    # 2 ms, and mostly nobody is asked
    from oulipoly_engine.core.text.control_characters import visible_line  # noqa: PLC0415
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415

    return visible_line(" ".join(redact(text).split()))
