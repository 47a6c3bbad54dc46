"""What the id of a CLI's session may be: the one rule for ids that come in, whoever tells them. Pure.

CLIs make UUIDs and words like `ses_5f2c`. An id becomes a file's name, an argument of a CLI and a variable of scripts,
so it must neither lead out of a folder nor begin an option.
"""

from __future__ import annotations

from oulipoly_engine.late_pattern import LatePattern

RULE = "an id holds letters, digits, `-`, `_` and `.` alone, at most 128 of them, and begins with no `-`"
_SHOWN = 80  # characters of one that breaks the rule
_ID = LatePattern(r"(?!-|\.+\Z)[A-Za-z0-9._-]{1,128}")


def is_session_id(text: str) -> bool:
    """Tell whether a CLI can have made a session id."""
    return _ID.fullmatch(text) is not None


def describe_bad_id(text: str) -> str:
    """Say that a text is not a session id, and why."""
    return f"{text[:_SHOWN]!r}{'…' * (len(text) > _SHOWN)} is not a session id: {RULE}"
