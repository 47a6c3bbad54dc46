"""`report`: what accounts have used, and what it would have cost at the vendors' prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import Progress
from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
from oulipoly_engine.core.ledger import report
from oulipoly_engine.core.ledger.report import COLUMNS, Grouping, Line
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.text.quantities import parse_clock
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.quota.ledger import LedgerReport, Question

_NUMBERS = ("calls", "input", "output", "cache read", "cache write", "total", "API value")
_STEPS = 100
_UNREAD = (
    "no transcript was read, for what is found in them cannot be stored: calls since the last report that could be are "
    "left out"
)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Bring the ledger up to date and print the report."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="What accounts have used, each API call counted once, and its API value: what it would have cost "
        "at the vendors' prices. A subscription is not billed by it. Own prices go into prices.toml.",
    )
    groupings = [str(one) for one in Grouping]
    parser.add_argument("--by", choices=groupings, default=groupings[0], help="default: day")
    parser.add_argument("--since", metavar="DATE", help="from a day (2026-11-20) or a time (Fri 08:00, RFC 3339) on")
    parser.add_argument("--until", metavar="DATE", help="to a day, included, or up to a time")
    parser.add_argument("--account", metavar="ACCOUNT", help="of this account alone")
    parser.add_argument("--model", help="of this model alone, as the CLI names it")
    parser.add_argument("--cli", choices=tuple(ADAPTERS), help="of this CLI alone")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--csv", action="store_true", help="print comma-separated values")
    options = parser.parse(arguments)
    if options.json and options.csv:
        raise UsageInvalid("--json and --csv exclude each other")
    question = Question(
        Grouping(options.by),
        _instant(options.since, "--since", context.clock.now()),
        _instant(options.until, "--until", context.clock.now(), is_end=True),
        options.account,
        options.model,
        options.cli,
    )
    found = context.engine.ledger.report(question, _show_reading_progress)
    if options.json:
        output.write_json(_document(context, question, found))
    elif options.csv:
        output.write_lines(_csv(question.by, found.lines), end="\r\n")
    else:
        _tell(question, found)
    return 0


@contextmanager
def _show_reading_progress() -> Iterator[Callable[[int, int], None]]:
    with Progress("reading transcripts, percent", _STEPS) as progress:
        shown = 0

        def step(done: int, everything: int) -> None:
            nonlocal shown
            while shown < _STEPS * done // max(1, everything) and shown < _STEPS:
                shown += 1
                progress.step()

        yield step


def _instant(text: str | None, option: str, now: datetime, *, is_end: bool = False) -> datetime | None:
    if text is None:
        return None
    if (shown := parse_clock(text, now)) is not None:
        return shown
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        if day is None:
            return from_text(text.upper())
        return datetime.combine(day + timedelta(days=is_end), time()).astimezone()
    except (ValueError, OverflowError) as error:
        forms = "a day like 2026-11-20, a time like `Fri 08:00`, or an instant like `2026-11-20T08:00:00Z`"
        raise UsageInvalid(f"{option} {text!r} is none of these: {forms}") from error


def _tell(question: Question, found: LedgerReport) -> None:
    updated = found.updated
    rows = [(*line.keys, *_cells(line)) for line in found.lines]
    if not rows and updated is None:
        output.write_line("no API calls that match are stored")
    elif not rows and updated is not None:
        output.write_line(f"no API calls that match, in {updated.files} transcripts")
    else:
        keys = COLUMNS[question.by]
        if question.by is not Grouping.WINDOW and len(rows) > 1:  # windows share calls
            rows.append(("total", *[""] * (len(keys) - 1), *_cells(report.total(found.lines))))
        numbers = range(len(keys), len(keys) + len(_NUMBERS))
        output.write_lines(table([(*keys, *_NUMBERS), *([*map(plain, row)] for row in rows)], right=numbers))
    for account, reason in found.absent.items():
        diagnostics.note(f"{account}: {reason}")
    if updated is None:
        diagnostics.note(_UNREAD)
        return
    if updated.damaged:
        diagnostics.note(f"{updated.damaged} lines that may tell of a call could not be read")
        for fault in updated.faults:
            diagnostics.note(f"  {fault}")
        if updated.damaged > len(updated.faults):
            diagnostics.note(f"  {updated.damaged - len(updated.faults)} more")


def _cells(line: Line) -> tuple[str, ...]:
    tokens = line.tokens
    counts = (line.calls, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total)
    return (*(f"{count:,}" for count in counts), _value(line))


def _value(line: Line) -> str:
    if line.unpriced and line.unpriced == line.calls:
        return "unknown"
    return f"${line.value:,.2f}" + (f" + {line.unpriced} unknown" if line.unpriced else "")


def _entry(columns: Sequence[str], line: Line) -> Iterator[tuple[str, object]]:
    tokens = line.tokens
    yield from zip(columns, line.keys, strict=True)
    yield "calls", line.calls
    yield "input", tokens.input
    yield "output", tokens.output
    yield "cache_read", tokens.cache_read
    yield "cache_write", tokens.cache_write
    yield "cache_write_1h", tokens.cache_write_1h
    yield "reasoning", tokens.reasoning
    yield "total", tokens.total
    yield "api_value_usd", None if line.unpriced and line.unpriced == line.calls else round(line.value, 6)
    yield "unpriced_calls", line.unpriced


def _document(context: Context, question: Question, found: LedgerReport) -> dict[str, object]:
    columns, updated = COLUMNS[question.by], found.updated
    everything = None if question.by is Grouping.WINDOW else dict(_entry((), report.total(found.lines)))
    return {
        "generated_at": to_text(context.clock.now()),
        "by": question.by.value,
        "rows": [dict(_entry(columns, line)) for line in found.lines],
        "total": everything,
        "transcripts": None if updated is None else updated.files,
        "damaged_lines": 0 if updated is None else updated.damaged,
        "first_damaged": [] if updated is None else list(updated.faults),
        "without_ledger": dict(found.absent),
        "notes": [_UNREAD] if updated is None else list(updated.notes),
    }


def _csv(by: Grouping, found: Sequence[Line]) -> Iterator[str]:
    columns = COLUMNS[by]
    rows = [dict(_entry(columns, line)) for line in found]
    head = [key for key, _ in _entry(columns, Line(("",) * len(columns)))]
    yield from (",".join(_csv_cell(value) for value in row) for row in (head, *(r.values() for r in rows)))


def _csv_cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\r\n') else text
