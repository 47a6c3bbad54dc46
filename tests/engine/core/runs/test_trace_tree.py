from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.runs.trace import to_json, to_lines
from oulipoly_engine.errors import InvocationNotFound
from oulipoly_engine.records import replace
from oulipoly_engine.service.runs.trace import Tracer
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def identity(number):
    return f"00000000-0000-4000-8000-{number:012d}"


class Recorder:
    def __init__(self, store):
        self.store = store

    def begin(self, number, parent=None, age_s=10, **changes):
        new = invocations.NewInvocation(
            uuid=identity(number),
            model="m",
            account="a",
            member_index=0,
            created_at=NOW - timedelta(seconds=age_s),
            parent=None if parent is None else ("a", identity(parent)),
        )
        return invocations.begin(self.store, replace(new, **changes))

    def trace(self, number, **options):
        return Tracer(self.store, dict, self.store.path.parent, **options).trace(identity(number))


@pytest.fixture
def record(tmp_path):
    store = open_store(tmp_path / "state.db")
    yield Recorder(store)
    store.close()


def test_children_come_in_the_order_of_their_start(record):
    record.begin(1, age_s=100)
    record.begin(3, parent=1, age_s=10)
    record.begin(2, parent=1, age_s=50)

    assert [identity(2), identity(3)] == [child.invocation.uuid for child in record.trace(1).children]


def test_a_line_indents_with_depth(record):
    record.begin(1)
    record.begin(2, parent=1)
    record.begin(3, parent=2)

    lines = list(to_lines(record.trace(1), NOW))

    assert [0, 2, 4] == [line.index("└" if "└" in line else identity(1)) for line in lines]


def test_the_depth_limit_leaves_a_mark_instead_of_children(record):
    record.begin(1)
    record.begin(2, parent=1)

    root = record.trace(1, max_depth=0)

    document = to_json(root, NOW)["root"]
    assert [] == document["children"]
    assert "depth limit reached" in document["warnings"][0]
    assert "  ! depth limit reached" == list(to_lines(root, NOW))[1]


def test_a_cycle_is_shown_once_as_a_leaf(record):
    first = record.begin(1)
    second = record.begin(2, parent=1)
    with record.store.write():
        record.store.execute("UPDATE invocations SET parent_invocation_id = ? WHERE id = ?", (second, first))

    root = record.trace(1)

    assert f"    ! cycle -> {identity(1)}" == list(to_lines(root, NOW))[2]
    assert [f"cycle -> {identity(1)}"] == to_json(root, NOW)["root"]["warnings"]


def test_a_childs_warning_is_repeated_on_its_ancestors(record):
    record.begin(1)
    record.begin(2, parent=1, capture_method="resumed", session_id=identity(9))

    document = to_json(record.trace(1), NOW)["root"]

    assert document["warnings"] == document["children"][0]["warnings"] != []


def test_a_resumed_row_shows_its_target_and_acceptance(record):
    record.begin(1, capture_method="resumed", session_id=identity(9))

    line = next(to_lines(record.trace(1), NOW))

    assert line.endswith(f"Resume target: {identity(9)}  resume=—  no_locator")


def test_only_a_root_is_called_stale(record):
    record.begin(1)
    record.begin(2, parent=1, age_s=99_999)

    child = to_json(record.trace(1), NOW)["root"]["children"][0]["invocation"]

    assert "running" == child["status"]
    assert "stale_running" not in child


def test_a_final_row_stays_as_it_is(record):
    row = record.begin(1)
    done = Outcome(success=False, exit_code=3, finished_at=NOW, error_category="unknown")
    invocations.end(record.store, row, done)
    invocations.end(record.store, row, replace(done, success=True, exit_code=0))

    shown = to_json(record.trace(1), NOW)["root"]["invocation"]

    assert ("failed", False, 3) == (shown["status"], shown["success"], shown["exit_code"])
    assert {"a": 1} == invocations.counts(record.store, "m")


@pytest.mark.parametrize("text", ["", "7", "zz", identity(404)])
def test_an_id_that_names_nothing_is_refused(record, text):
    with pytest.raises(InvocationNotFound):
        Tracer(record.store, dict, record.store.path.parent).trace(text)
