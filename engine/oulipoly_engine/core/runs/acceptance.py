"""Decide whether a CLI took the session id that it was told to resume. Pure.

Order of the contract: a configured rejection beats everything, then a configured acceptance of a clean exit, then what
the known CLIs print for an unknown session, then the exit code.
"""

from __future__ import annotations

from enum import StrEnum

from oulipoly_engine.core.accounts.accounts import AcceptanceSpec
from oulipoly_engine.core.runs.vendor_text import find_missing_session_phrase
from oulipoly_engine.records import Record


class AcceptanceStatus(StrEnum):
    """What became of a resumed id."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNCONFIRMED = "unconfirmed"


class Acceptance(Record):
    """The verdict with its reason."""

    status: AcceptanceStatus
    evidence: str  # one sentence, names the pattern that matched
    is_mismatch: bool = False  # the CLI does not know the session: category resume_session_mismatch


def judge(spec: AcceptanceSpec | None, session_id: str, exit_code: int, stdout: str, stderr: str) -> Acceptance:
    """Return whether the resumed id was taken.

    spec: the account's patterns; None when none are configured. Patterns are plain substrings of stdout, newline,
    stderr, with `{session_id}` standing for the id.
    """
    output = f"{stdout}\n{stderr}"
    rules = spec or AcceptanceSpec()
    rejecting = _first_match(rules.rejected, session_id, output)
    if rejecting is not None:
        return Acceptance(AcceptanceStatus.REJECTED, f"rejected_output_patterns matched {rejecting!r}")
    accepting = _first_match(rules.accepted, session_id, output) if exit_code == 0 else None
    if accepting is not None:
        return Acceptance(AcceptanceStatus.ACCEPTED, f"accepted_output_patterns matched {accepting!r}")
    phrase = find_missing_session_phrase(output)
    if phrase is not None:
        return Acceptance(
            AcceptanceStatus.REJECTED, f"the CLI does not know the session: it printed {phrase!r}", is_mismatch=True
        )
    return _by_exit(exit_code, has_rules=bool(rules.accepted or rules.rejected))


def _by_exit(exit_code: int, *, has_rules: bool) -> Acceptance:
    if exit_code != 0:
        return Acceptance(AcceptanceStatus.REJECTED, f"the CLI exited with {exit_code}")
    if has_rules:
        return Acceptance(AcceptanceStatus.UNCONFIRMED, "exit 0, but no resume_acceptance pattern matched the output")
    return Acceptance(AcceptanceStatus.UNCONFIRMED, "exit 0, and no resume_acceptance patterns are configured")


def _first_match(patterns: tuple[str, ...], session_id: str, output: str) -> str | None:
    wanted = (pattern.replace("{session_id}", session_id) for pattern in patterns)
    return next((pattern for pattern in wanted if pattern and pattern in output), None)
