from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import controls

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


def test_nothing_was_said_of_an_account_without_a_row(store):
    assert {"a": Controls(), "b": Controls()} == controls.of(store, ("a", "b"))
    assert {} == controls.of(store, ())


def test_what_was_said_comes_back_and_the_last_word_counts(store):
    controls.save(store, "a", Controls(0.25, drained=True), NOW)
    controls.save(store, "b", Controls(disabled=True), NOW)
    controls.save(store, "a", Controls(0.1, disabled=True), NOW)

    assert {"a": Controls(0.1, disabled=True), "b": Controls(disabled=True)} == controls.of(store, ("a", "b"))


def test_taking_everything_back_leaves_nothing(store):
    controls.save(store, "a", Controls(0.25, drained=True, disabled=True), NOW)
    controls.save(store, "a", Controls(), NOW)

    assert Controls() == controls.of(store, ("a",))["a"]


@pytest.mark.parametrize("reserve", [-0.01, 1.0, 30.0])
def test_a_reserve_that_is_no_share_is_not_stored(store, reserve):
    controls.save(store, "a", Controls(0.25), NOW)

    with pytest.raises(StoreUnusable):
        controls.save(store, "a", Controls(reserve), NOW)

    assert Controls(0.25) == controls.of(store, ("a",))["a"]
