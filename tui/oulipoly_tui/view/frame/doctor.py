"""What the doctor found, as rows and as the details of one: what is wrong first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.checks.finding import Area, Finding, Severity
from oulipoly_tui.view.transcript.spans import Line, Row, Tone, cut, fit_text

_MARKS: dict[Severity, tuple[str, Tone]] = {
    Severity.ERROR: ("✗ error  ", "bad"),
    Severity.WARNING: ("! warning", "warn"),
    Severity.OK: ("✓ ok     ", "good"),
}
_AREA = 2 + max(len(area.value) for area in Area)


def put_wrong_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order of the list."""
    severities = list(Severity)
    return tuple(sorted(findings, key=lambda one: severities.index(one.severity)))


def doctor_rows(findings: Sequence[Finding], width: int) -> tuple[Row, ...]:
    """Return a row each: mark, area, what is the matter."""
    rows = []
    for number, one in enumerate(findings):
        mark, tone = _MARKS[one.severity]
        subject = one.subject.rpartition("/")[2]  # of a path its name; all of it stands below the list
        text = f"{subject}: {one.cause}" if subject else one.cause
        room = max(0, width - len(mark) - 1 - _AREA)
        told: Tone = "dim" if one.severity is Severity.OK else ""
        rows.append(
            Row(str(number), ((f"{mark} ", tone), (fit_text(one.area.value, _AREA), "dim"), (cut(text, room), told)))
        )
    return tuple(rows)


def doctor_detail(one: Finding) -> tuple[Line, ...]:
    """Return all that is said of one finding."""
    text = f"{one.subject}: {one.cause}" if one.subject else one.cause
    lines: list[Line] = [((text, _MARKS[one.severity][1] if one.severity is not Severity.OK else ""),)]
    for word, told, tone in (("effect", one.consequence, ""), ("fix", one.fix, "good"), ("run", one.command, "key")):
        if told:
            lines.append(((f"{word:<7} ", "dim"), (told, tone)))  # type: ignore[arg-type]
    return tuple(lines)
