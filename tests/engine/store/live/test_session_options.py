"""How a live session is opened, as the state file keeps it: for earlier releases, later ones, and after bad hands."""

import json
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.models.live import LiveSessionRow

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
OPTIONS = SessionOptions(model="opus", args=("--verbose",), block_while_running=False, capabilities=("fork", "steer"))


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "state.db")
    live_sessions.insert(store, LiveSession("s", "/w", "r", "acp", "m", NOW, NOW, opening=OPTIONS))
    return store


def kept(store):
    return json.loads(store.rows(LiveSessionRow.select(LiveSessionRow.opening))[0][0])


def keep(store, **changes):
    document = json.dumps(kept(store) | changes)
    with store.write():
        store.run(LiveSessionRow.update({LiveSessionRow.opening: document}))


def read(store):
    return live_sessions.find(store, "s")[0].opening


def test_options_are_read_as_they_were_written(store):
    assert OPTIONS == read(store)


def test_only_what_is_not_at_its_default_is_kept(store):
    live_sessions.change_opening(store, "s", NOW, model="", preface="what was said")
    assert {"args", "block_while_running", "capabilities", "preface"} == kept(store).keys()


def test_what_a_later_release_keeps_outlasts_a_change(store):
    keep(store, of_tomorrow={"a": 1})
    live_sessions.change_opening(store, "s", NOW, effort="high")
    assert ({"a": 1}, "high") == (kept(store)["of_tomorrow"], read(store).effort)


@pytest.mark.parametrize("value", [7, None, ["x"], {"y": 1}])
def test_a_value_of_another_kind_costs_itself_alone(store, value):
    keep(store, model=value)
    assert ("", OPTIONS.args) == (read(store).model, read(store).args)


def test_a_session_is_found_by_how_its_id_begins_and_no_sign_of_it_stands_for_another(store):
    for name in ("ses_1", "sesx1", "ses%", "ses\\"):
        live_sessions.insert(store, LiveSession(name, "/w", "r", "acp", "m", NOW, NOW))
    found = {
        begin: [each.session_id for each in live_sessions.find(store, begin)] for begin in ("SES_", "ses%", "ses\\")
    }

    assert {"SES_": ["ses_1"], "ses%": ["ses%"], "ses\\": ["ses\\"]} == found
    assert ["s"] == [each.session_id for each in live_sessions.find(store, "s")]
