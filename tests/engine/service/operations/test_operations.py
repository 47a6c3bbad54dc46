"""What was begun and cut off is settled by the one of its kind, once, and again where that was not possible."""

import pytest

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.service.operations.operations import begin, recover, settled_if_it_fails
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.operations import operations
from oulipoly_engine.testing import FakeClock


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "state.db")
    yield store
    store.close()


def end(store, operation):
    operations.end(store, operation.operation_id, "undo", FakeClock().now())
    return f"{operation.kind} of {operation.subject} was undone"


def test_each_kind_is_settled_by_its_own_and_what_cannot_be_hinders_nothing(store):
    def refuse(_operation):
        raise RequestRefused("the disk is full")

    clock = FakeClock()
    for kind, subject in (("move", "s1"), ("make", "s2"), ("make", "s3"), ("of a later release", "s4")):
        clock.jump(1)
        begin(store, clock, kind, subject, place="/x")
    settlers = {"move": refuse, "make": lambda operation: end(store, operation)}

    assert ("make of s3 was undone",) == recover(store, settlers, "s3")
    assert ("a move of s1 that was cut off cannot be settled: the disk is full", "make of s2 was undone") == recover(
        store, settlers
    )
    assert ["s1"] == [operation.subject for operation in operations.find(store, "begun", settlers)]
    assert {"place": "/x"} == operations.find(store, "begun", ("of a later release",))[0].detail


@pytest.mark.parametrize(
    ("error", "why"), [(RequestRefused("no room"), "no room"), (KeyboardInterrupt(), "it was stopped")]
)
def test_a_step_that_fails_is_settled_at_once_and_is_what_is_raised(error, why):
    told = []

    def settle(reason):
        told.append(reason)
        raise OSError("cannot be settled now")

    with pytest.raises(type(error)), settled_if_it_fails(settle):
        raise error

    assert [why] == told


def test_an_app_of_the_release_before_writes_on(store):
    with store.write():
        store.insert(
            "worktree_operations",
            operation_id="o",
            session_id="s",
            kind="merge",
            state="begun",
            detail="{}",
            begun_at="2026-11-20T08:30:00.000000Z",
        )

    (operation,) = operations.find(store, "begun", ("merge",))
    assert ("o", "s", "merge") == (operation.operation_id, operation.subject, operation.kind)
