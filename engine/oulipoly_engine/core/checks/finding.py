"""One thing that the doctor has to say. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.records import Record, asdict, replace

_LONGEST = 300  # characters of what others said


class Area(StrEnum):
    """What was looked at, in the order in which it is told."""

    CONFIGURATION = "configuration"
    PROGRAMS = "programs"  # the CLIs of the accounts
    LOGINS = "logins"  # their folders and what they are signed in with
    QUOTA = "quota"  # the last answers of the quota scripts
    STATE = "state file"
    FOLDERS = "folders"  # ours: whose they are, and who may read them
    DISK = "disk"
    RUNS = "runs"
    TERMINALS = "terminals"
    SESSIONS = "sessions"
    SURROUNDINGS = "surroundings"  # this terminal, this Python


class Severity(StrEnum):
    """Whether something does not work, may go wrong, or was looked at and is well."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"


class Finding(Record):
    """What is wrong, what follows, and what mends it; of what is well only the cause is filled, with what was seen."""

    area: Area
    severity: Severity
    subject: str  # an account, a file and its line, the beginning of an id; empty: the area as a whole
    cause: str
    consequence: str = ""
    fix: str = ""
    command: str = ""  # that does it, as a shell takes it; empty: none does


def tell_well(area: Area, seen: str, subject: str = "") -> Finding:
    """Return the finding of what is well. seen: what was looked at."""
    return Finding(area, Severity.OK, subject, seen)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by area, the errors of each first, with the secrets taken out of every text."""
    areas, severities = list(Area), list(Severity)
    ordered = sorted(findings, key=lambda one: (areas.index(one.area), severities.index(one.severity)))
    return tuple(map(_redact, ordered))


def count(findings: Iterable[Finding], severity: Severity) -> int:
    """Return how many findings are of a severity."""
    return sum(one.severity is severity for one in findings)


def to_document(findings: Sequence[Finding]) -> dict[str, object]:
    """Return what `doctor --json` prints."""
    return {
        "findings": [asdict(one) | {"area": one.area.value, "severity": one.severity.value} for one in findings],
        "errors": count(findings, Severity.ERROR),
        "warnings": count(findings, Severity.WARNING),
    }


def to_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the findings for people, by area, and their sum."""
    lines: list[str] = []
    area = None
    for one in findings:
        if one.area is not area:
            area = one.area
            lines.append(area.value)
        lines.append(f"  {one.severity.value:<8} {one.subject + ': ' if one.subject else ''}{one.cause}")
        rows = (("effect", one.consequence), ("fix", one.fix), ("run", one.command))
        lines += [f"           {word:<7} {text}" for word, text in rows if text]
    return [*lines, "", summarize(findings)]


def summarize(findings: Sequence[Finding]) -> str:
    """Return how much is wrong, in a few words."""
    errors, warnings = count(findings, Severity.ERROR), count(findings, Severity.WARNING)
    if not errors + warnings:
        return "nothing is wrong"
    return f"{_plural(errors, 'error')}, {_plural(warnings, 'warning')}"


def cut_line(text: str) -> str:
    """Return what others said as one line that is not endless."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def in_shell(*words: str | Path) -> str:
    """Return a command line as a shell takes it."""
    return shlex.join(map(str, words))


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _redact(one: Finding) -> Finding:
    texts = {
        name: redact(text)
        for name in ("subject", "cause", "consequence", "fix", "command")
        if (text := getattr(one, name))
    }
    return replace(one, **texts)
