"""Who burned an account's quota: a row a session, project or model, the greatest part first. Pure."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from oulipoly_engine.core.ledger.report import Grouping
from oulipoly_tui.view import words
from oulipoly_tui.view.transcript.spans import Line, Span, cells, cut, fit_text, wrap_lines

if TYPE_CHECKING:
    from oulipoly_engine.core.ledger.report import Line as Total
    from oulipoly_engine.facade.quota.ledger import Consumer, TopConsumers

ORDER = (Grouping.SESSION, Grouping.PROJECT, Grouping.MODEL)  # as `b` goes through them
_PLURAL = {Grouping.SESSION: "sessions", Grouping.PROJECT: "projects", Grouping.MODEL: "models"}
_BAR = 10
_ID_FROM = 24  # columns of a name in which a session's id stands beside its title
_BAR_FROM = 64  # columns at which the bar finds room
_ID = 8  # characters of a session's id that people tell apart


def burner_lines(found: TopConsumers, by: Grouping, range_name: str, width: int) -> tuple[Line, ...]:
    """Return a heading, and a line for each; what is a part of what is said in the heading."""
    rows = found.by.get(by, ())
    heading: Line = ((f"{_PLURAL[by]} that burned {found.account}, {range_name}", "heading"),)
    if not rows:
        text = "no API call is known in this range: transcripts tell of them, once sessions.toml names the account"
        return wrap_lines((heading, ((text, "dim"),)), width)
    whole: Line = ((f"parts of {_amounts(found.whole)}, by {'API value' if found.is_by_value else 'tokens'}", "dim"),)
    numbers = max(cells(_amounts(row.line)) for row in rows)
    return (heading, whole, *(_row(row, by, width, numbers) for row in rows))


def tokens(count: int) -> str:
    """Return a count of tokens in the unit that fits."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return str(count)


def _row(row: Consumer, by: Grouping, width: int, numbers_width: int) -> Line:
    spans: list[Span] = [(fit_text(words.percent(row.share), 5, right=True) + " ", "strong")]
    if width >= _BAR_FROM:
        filled = round(row.share * _BAR)
        spans.append(("█" * filled + "░" * (_BAR - filled) + " ", "accent"))
    numbers = fit_text(_amounts(row.line), numbers_width)
    left = max(10, width - sum(cells(text) for text, _ in spans) - numbers_width - 1)
    name = fit_text(_name(row, by, left), left)
    return (*spans, (name, ""), (" " + numbers, "dim"))


def _name(row: Consumer, by: Grouping, width: int) -> str:
    if by is Grouping.SESSION:
        title = row.title or _folder(row)
        return title if title and width < _ID_FROM else f"{row.key[:_ID]} {title}".rstrip()
    if by is Grouping.PROJECT and cells(row.key) > width:  # its end tells more than its beginning
        tail = PurePath(row.key).name
        return cut(f"…/{tail}", width)
    return row.key


def _folder(row: Consumer) -> str:
    return PurePath(row.line.keys[2]).name if len(row.line.keys) > 2 else ""


def _amounts(line: Total) -> str:
    calls, total = line.calls, line.tokens.total
    value = "" if line.unpriced else f" ${line.value:,.2f}"
    return f"{calls:,} call{'s' * (calls != 1)} {tokens(total)}{value}"
