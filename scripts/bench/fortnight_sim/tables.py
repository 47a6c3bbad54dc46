"""The judge's tables as Markdown, for the terminal and for the page of the docs that has them between two marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fortnight_sim.judge import CLAIRVOYANT, Cell, Mean, Results
from fortnight_sim.scenario import VARIATIONS

PAGE = Path(__file__).parents[3] / "docs" / "choosing-an-account.md"
BEGIN = "<!-- fortnight: what follows is written by scripts/bench/fortnight.py --docs -->"
END = "<!-- fortnight: end -->"


def _percents(value: Mean) -> str:
    return f"{value.mean:.1%} ({value.low:.1%} to {value.high:.1%})"


def _numbers(value: Mean) -> str:
    return f"{value.mean:.0f} ({value.low:.0f} to {value.high:.0f})"


def _shares(value: Mean | None) -> str:
    return "-" if value is None else f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"


_MEASURES = {  # the columns' heads, and how many digits tell their means
    "lost": ("work lost", _percents),
    "refusals": ("refusals", _numbers),
    "first_refusal": ("before the first", _numbers),
    "weekly_unused": ("unused", _percents),
    "weekly_useless": ("unused or wasted", _percents),
}


def rules_table(results: Results) -> list[str]:
    """Return a row a rule, those that lose least first: each measure's mean, and what 95 % of the bootstraps say."""
    rows = [["rule", *(name for name, _ in _MEASURES.values())]]
    for rule in sorted(results.rules, key=lambda rule: results.mean(rule, "lost").mean):
        rows.append([rule, *(show(results.mean(rule, measure)) for measure, (_, show) in _MEASURES.items())])
    return _markdown(rows)


def way_table(results: Results, rules: Sequence[str]) -> list[str]:
    """Return a row a measure: its best rival, the clairvoyant, and how far some rules are from one to the other."""
    head = ["measure", "best rival", "clairvoyant"]
    for rule in rules:
        head += [rule, "of the way", "x the rival's"]
    rows = [head]
    for measure, (name, show) in _MEASURES.items():
        rival = results.best_rival(measure)
        row = [name, f"{rival}: {show(results.mean(rival, measure))}", show(results.mean(CLAIRVOYANT, measure))]
        for rule in rules:
            row += [show(results.mean(rule, measure)), _shares(results.way(rule, measure))]
            row.append(_shares(results.ratio(rule, measure)))
        rows.append(row)
    return _markdown(rows)


def cells_table(results: Results, rules: Sequence[str], *, variations: bool = False) -> list[str]:
    """Return a row a cell: the work lost by the best rival of all cells, by some rules, and by the clairvoyant."""
    rival = results.best_rival("lost")
    columns = [rival, *rules, CLAIRVOYANT]
    rows = [["variation" if variations else "cell", *columns]]
    for cell, seeds in results.cells.items():
        lost = [sum(values[rule]["lost"] for values in seeds) / len(seeds) for rule in columns]
        rows.append([name_cell(cell, variations=variations), *(f"{share:.1%}" for share in lost)])
    return _markdown(rows)


def exact_table(means: Mapping[str, float], count: int) -> list[str]:
    """Return a row a rule: the mean share of work lost on the small instances that a solver knows the best plan of."""
    rows = [["rule", f"work lost, mean of {count}"], *([rule, f"{lost:.1%}"] for rule, lost in means.items())]
    return _markdown(rows)


def name_cell(cell: Cell, *, variations: bool = False) -> str:
    """Return a cell in words."""
    if variations:
        return ", ".join(f"{name}: {VARIATIONS[name]}" for name in sorted(cell.variations)) or "none"
    how = "bursts" if cell.burst > 1 and cell.in_flight is None else f"{cell.in_flight or 'any number'} in flight"
    if cell.in_flight == 1:
        how = "in sequence"
    return ", ".join([cell.fleet, f"{cell.load:.0%}", how, *sorted(cell.variations)])


def worse_lines(results: Results, rules: Sequence[str]) -> Iterator[str]:
    """Say in which cells rules lose more than the best rival by more than noise."""
    rival = results.best_rival("lost")
    for rule in rules:
        worse = results.worse_cells(rule)
        yield f"{rule} loses more than {rival} by more than noise in {len(worse)} of {len(results.cells)} cells."
        for cell, gap in worse:
            yield f"* {name_cell(cell)}: {gap.mean:+.1%} ({gap.low:+.1%} to {gap.high:+.1%})"


def write_page(lines: Sequence[str]) -> None:
    """Put the tables between the marks of the page. ValueError: the page has no such marks."""
    text = PAGE.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no lines {BEGIN!r} and {END!r}")
    PAGE.write_text(before + "\n".join([BEGIN, "", *lines, "", END]) + after)


def document(sections: Mapping[str, Results]) -> Mapping[str, object]:
    """Return all that was measured, as JSON has it."""
    return {
        name: [
            {"cell": name_cell(cell), "place": place, "rules": values}
            for cell, seeds in results.cells.items()
            for place, values in enumerate(seeds)
        ]
        for name, results in sections.items()
    }


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
