"""A decision as a table for people."""

import pytest

from oulipoly_engine.core.balance.why_table import why_table

WEEKLY = {
    "position": 1,
    "label": "weekly",
    "used": 0.5,
    "rate": 0.00125,
    "rate_source": "own",
    "live": True,
    "projected_used": 0.5625,
    "hours_to_reset": 100,
}
COLUMNS = ("mark", "account", "score", "window", "used", "rate", "projected", "resets in", "calls", "errors", "note")


def table(*candidates, **decision):
    return why_table({"model": "opus", "candidates": candidates} | decision)


def cells(**candidate):
    """Return the cells of the first row of one candidate; a note is the only cell with spaces of its own."""
    lines = table({"account": "a", "windows": [WEEKLY]} | candidate).splitlines()
    heading, row = lines[2], lines[3]
    starts = [0, *(heading.index(f" {name}") + 1 for name in ("account", "headroom h", "window", "used", "rate/turn"))]
    starts += [heading.index(f" {name}") + 1 for name in ("projected", "resets in", "calls", "errors")]
    starts.append(heading.index("errors") + len("errors"))
    stops = [*starts[1:], None]
    return {name: row[one:end].strip() for name, one, end in zip(COLUMNS, starts, stops, strict=True)}


def test_table_has_a_title_the_headings_and_a_row_for_each_window():
    burst = WEEKLY | {"position": 0, "label": "5h", "used": None, "rate": None, "hours_to_reset": 2.5}
    first = {"account": "claude1", "chosen": True, "score": 4.5, "windows": [burst, WEEKLY], "binding_window": 1}
    first |= {"invocation_count": 3, "recent_errors": 1}
    second = {"account": "claude2", "eligible": False, "why_not": "is drained"}

    drawn = table(first, second, account="claude1", method="density", rule="fewest-calls", reason="it leads")

    assert drawn.splitlines() == [
        "opus: claude1 (ranked by headroom, fewest-calls)",
        "  it leads",
        "    account  headroom h  window   used  rate/turn    projected  resets in  calls  errors",
        ">>  claude1  4.5         5h       ?     ?            56 %       2 h 30 m   3      1",
        "                         weekly*  50 %  0.125 % own  56 %       4 d 4 h",
        "x   claude2  ?           -        ?     ?            ?          ?          0      0       is drained",
    ]
    assert drawn.endswith("is drained\n")


@pytest.mark.parametrize(
    ("decision", "title"),
    [
        (
            {"account": "a", "method": "count", "rule": "lowest-use", "reason": "r"},
            ["opus: a (fewest calls (quota unknown), lowest-use)", "  r"],
        ),
        ({"account": None, "method": "none", "rule": "x", "error": "spent"}, ["opus: nobody (none, x)", "  spent"]),
    ],
    ids=["chosen", "nobody"],
)
def test_title_says_who_serves_and_why(decision, title):
    assert title == table(**decision).splitlines()[:2]


@pytest.mark.parametrize("floor", [2.345, 0.0])
def test_band_is_told_where_one_was_formed(floor):
    drawn = table(band_floor=floor).splitlines()

    assert f"  eligible: every headroom of at least {floor:.1f} h" == drawn[2]


def test_no_band_is_told_where_none_was_formed():
    assert "eligible" not in table(band_floor=None)


@pytest.mark.parametrize(
    ("candidate", "mark"),
    [
        ({"chosen": True, "in_band": True}, ">>"),
        ({"eligible": False}, "x"),
        ({"eligible": True, "in_band": True}, "="),
        ({"eligible": True, "in_band": False}, "-"),
        ({"in_band": True}, "="),
    ],
    ids=["chosen", "takes no part", "in the band", "below it", "an older record without eligible"],
)
def test_mark_says_how_far_a_candidate_came(candidate, mark):
    assert mark == cells(**candidate)["mark"]


@pytest.mark.parametrize(
    ("field", "value", "column", "shown"),
    [
        ("used", 0.9999, "used", "100 %"),
        ("used", None, "used", "?"),
        ("label", None, "window", "window-1"),
        ("rate", None, "rate", "?"),
        ("rate", 0.1, "rate", "10.000 % own"),
        ("live", False, "projected", "reset"),
        ("projected_used", None, "projected", "?"),
        ("hours_to_reset", None, "resets in", "?"),
        ("hours_to_reset", 23.9, "resets in", "23 h 54 m"),
        ("hours_to_reset", 48, "resets in", "2 d 0 h"),
    ],
    ids=[
        "use",
        "use unknown",
        "no label",
        "rate unknown",
        "rate",
        "has reset",
        "projection unknown",
        "reset unknown",
        "hours below a day",
        "days from a day on",
    ],
)
def test_window_is_shown_with_units_and_what_is_unknown_as_question_mark(field, value, column, shown):
    assert shown == cells(windows=[WEEKLY | {field: value}])[column]


def test_binding_window_alone_has_a_star():
    windows = [WEEKLY | {"position": place} for place in (0, 1, 2)]
    rows = table({"account": "a", "windows": windows, "binding_window": 1}).splitlines()[3:]

    assert [False, True, False] == ["weekly*" in row for row in rows]


@pytest.mark.parametrize(
    ("candidate", "note"),
    [
        ({}, ""),
        ({"reserve": 0.125}, "reserve 12 %"),
        ({"hides_window": True}, "hides a window"),
        ({"reserve": 0.1, "hides_window": True, "why_not": "no"}, "reserve 10 %; hides a window; no"),
    ],
    ids=["nothing", "reserve", "hidden window", "all"],
)
def test_note_tells_what_sets_a_candidate_apart(candidate, note):
    assert note == cells(**candidate)["note"]
