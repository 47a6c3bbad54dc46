"""Skills and MCP servers of each CLI's home, as rows, and what copying them would do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from oulipoly_engine.records import Record
from oulipoly_tui.view.setup.log import diff_lines
from oulipoly_tui.view.transcript.spans import Line, Row, cut, fit_text, wrap_lines

if TYPE_CHECKING:
    from oulipoly_engine.facade.setup.sync import SyncHome, SyncPlan

Kind = Literal["skill", "mcp"]
_KINDS: dict[Kind, str] = {"skill": "skill", "mcp": "MCP server"}
_NAME = 30  # columns
_MARKED, _NOT_MARKED = "✓ ", "  "


class Entry(Record):
    """A skill or an MCP server of one home."""

    home: str
    kind: Kind
    name: str
    also_in: tuple[str, ...]  # other homes that have one of that kind and name


def list_entries(homes: Sequence[SyncHome]) -> tuple[Entry, ...]:
    """Return what there is, home by home."""
    return tuple(entry for home in homes for entry in _of_home(home, homes))


def sync_rows(
    homes: Sequence[SyncHome], marked: Collection[str], width: int, notes: Sequence[str] = ()
) -> tuple[Row, ...]:
    """Return a heading a home, a row an entry, and notes; the key of an entry's row is its place in `list_entries`."""
    rows: list[Row] = []
    place = 0
    for home in homes:
        title = home.name if home.name == home.cli.name else f"{home.name} · {home.cli.title}"
        entries = tuple(_of_home(home, homes))
        count = f"  {_count(len(home.skills), 'skill')}, {_count(len(home.servers), 'MCP server')}"
        rows.append(Row(f"home {home.name}", ((title, "heading"), (count, "dim")), is_selectable=False))
        rows += [
            Row(f"{home.name} problem {at}", ((f"  ! {text}", "warn"),), is_selectable=False)
            for at, text in enumerate(home.problems)
        ]
        for entry in entries:
            rows.append(Row(str(place), _line(entry, width, is_marked=str(place) in marked)))
            place += 1
    lines = wrap_lines([((text, "dim"),) for text in notes], width)
    rows += [Row(f"note {at}", line, is_selectable=False) for at, line in enumerate(lines)]
    return tuple(rows)


def plan_head(plans: Sequence[SyncPlan], target: str) -> tuple[Line, ...]:
    """Return what stands above the differences: what needs nothing, what is left out, what is replaced."""
    lines: list[Line] = []
    for plan in plans:
        if not plan.is_needed:
            lines.append(((f"{target} has the same already: {plan.what}", "dim"),))
        elif plan.replaces:
            lines.append(((f"! replaces another one of that name: {plan.what}", "bad"),))
        lines += [((f"! {note}", "warn"),) for note in plan.notes]
    return tuple(lines)


def plan_body(plans: Sequence[SyncPlan]) -> tuple[Line, ...]:
    """Return the differences."""
    return tuple(line for plan in plans if plan.is_needed for line in diff_lines(plan.diff))


def _of_home(home: SyncHome, homes: Sequence[SyncHome]) -> Iterator[Entry]:
    for name in home.skills:
        yield Entry(home.name, "skill", name, tuple(o.name for o in homes if o is not home and name in o.skills))
    for name in home.servers:
        others = tuple(other.name for other in homes if other is not home and name in other.servers)
        yield Entry(home.name, "mcp", name, others)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"


def _line(entry: Entry, width: int, *, is_marked: bool) -> Line:
    name = fit_text(entry.name, min(_NAME, max(10, width // 2)))
    also = f"also in {', '.join(entry.also_in)}" if entry.also_in else ""
    room = max(0, width - len(_MARKED) - len(name) - 12)
    mark: Line = ((_MARKED, "accent"),) if is_marked else ((_NOT_MARKED, ""),)
    return (*mark, (f"{_KINDS[entry.kind]:<11} ", "dim"), (name, ""), (cut(f" {also}", room), "dim"))
