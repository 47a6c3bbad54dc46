"""No module is harder to read than it was: what counts stands in scripts/density, what is left in its allowances."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def density():
    """The functions of scripts/density."""
    return runpy.run_path(str(ROOT / "scripts" / "density"), run_name="density")


def test_no_module_has_more_that_is_hard_to_read_than_it_is_allowed(density):
    known = runpy.run_path(str(ROOT / "scripts" / "layout"), run_name="layout")["modules"](ROOT)
    allowed = density["read"](density["ALLOWANCES"].read_text(encoding="utf-8"))

    over = {name: count for name, count in density["counts"](known).items() if count > allowed.get(name, 0)}

    assert {} == over, (
        "`scripts/density MODULE` names the lines; for a renamed module: `scripts/density --move OLD NEW`"
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a = b if c else d", 0),
        ("a = b if c else d if e else f", 1),
        ("a = b if c and d else e", 1),
        ("a = b if c else d if e else f if g else h", 2),
        ("a, b = b, a", 1),
        ("a, b = pair", 0),
        ("found = [one for one in rows]", 2),
        ("def act(told, *, whole): ...", 2),
        ("try: act()\nexcept OSError as it: ...", 1),
        ("match row:\n  case [made, *_]: ...", 1),
        ("row.found = found()", 0),
    ],
)
def test_what_a_reader_must_read_twice_counts(density, text, count):
    assert count == len(density["findings"](text))


def test_allowances_fall_and_never_rise(density):
    lowered = density["lowered"](
        {"less": 3, "more": 1, "none": 2, "gone": 4}, {"less": 2, "more": 5, "none": 0, "new": 6}
    )

    assert {"less": 2, "more": 1} == lowered


def test_a_module_that_is_renamed_or_split_off_takes_its_part_of_the_allowance_along(density):
    assert {"new": 3} == density["moved"]({"old": 3}, {"new": 3}, "old", "new")
    assert {"old": 1, "new": 2} == density["moved"]({"old": 3}, {"old": 1, "new": 2}, "old", "new")
    assert {"new": 3} == density["moved"]({"old": 3}, {"new": 4}, "old", "new")
