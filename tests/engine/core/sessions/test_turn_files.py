"""Which snapshot has the files as they were at a message: never what a turn did after it."""

import pytest

from oulipoly_engine.core.sessions.turn_files import Moment, find_reference

# a1 ─ a2 ─ a3 ┬ b1 ─ b2     the letters are turns; x is of none, as what a CLI alone has recorded
#              └ x ─ c1
PARENTS = {"a2": "a1", "a3": "a2", "b1": "a3", "b2": "b1", "x": "a3", "c1": "x"}
IDS = ["a1", *PARENTS]
TURNS = {entry: entry[0] for entry in IDS if entry != "x"}
ALL = [(turn, moment) for turn in "abc" for moment in Moment]


@pytest.mark.parametrize(
    ("entry", "missing", "expected"),
    [
        pytest.param("a3", [], "a after", id="a turn's end"),
        pytest.param("a3", ["a after"], "b before", id="else before what follows on it"),
        pytest.param("a3", ["a after", "b before"], None, id="never an earlier one: what the turn did would be gone"),
        pytest.param("a2", [], "a before", id="inside of a turn what was before it"),
        pytest.param("b1", ["b before"], "a after", id="or at the end of the one before"),
        pytest.param("a2", ["a before"], None, id="of the first turn nothing else"),
        pytest.param("b2", [], "b after", id="the end of a branch"),
        pytest.param("x", [], "c before", id="a message of no turn"),
        pytest.param("x", ["c before"], None, id="where nobody kept anything"),
        pytest.param("", [], "a before", id="before all"),
        pytest.param("", ["a before"], None, id="before all, where nobody kept it"),
    ],
)
def test_each_message_has_the_snapshot_of_its_place(entry, missing, expected):
    kept = {(turn, moment): f"{turn} {moment}" for turn, moment in ALL if f"{turn} {moment}" not in missing}

    assert (expected, entry in ("a1", "a2", "b1")) == find_reference(entry, IDS, PARENTS, TURNS, kept)
