"""The demo world's past as the rest of the program finds it: state file, transcripts, quota scripts."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oulipoly_demo import world
from oulipoly_demo.past import state as demo_past
from oulipoly_demo.past.stories import STORIES, WORKSPACES
from oulipoly_engine.core.quota.forecast import State
from oulipoly_engine.facade.base.home import Surroundings
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.snapshot import SnapshotMaker
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts.configuration import Places
from oulipoly_engine.service.quota.forecasting import forecasts
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.runs import spawned

NOW = datetime(2026, 11, 20, 15, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A world with its past, for all tests of this module: none of them changes it."""
    built = world.build(tmp_path_factory.mktemp("past") / "demo")
    demo_past.ensure(built, NOW.timestamp())
    return built


@pytest.fixture
def store(lived):
    found = open_store(from_environment(world.environment_for(lived)).state_db)
    yield found
    found.close()


def test_pools_have_scores_and_a_next_pick_by_waste(lived, store):
    places = Places(from_environment(world.environment_for(lived)))

    pools = SnapshotMaker().make(store, places.read(), {}, NOW).pools

    assert {"waste"} == {pool.decision.method.value for pool in pools}
    assert all(verdict.waste is not None for pool in pools for verdict in pool.decision.verdicts)


def test_forecasts_have_bands_and_an_honest_error(lived, store):
    found = forecasts(store, tuple(lived.accounts), NOW, scored=True)

    assert all(one.score is not None and one.ended for one in found)
    assert {State.RUNS_DRY, State.STEADY, State.NOT_ENOUGH_DATA} == {one.forecast.state for one in found}


def test_quota_scripts_report_what_was_read_last(lived, store):
    stored = quotas.states(store, tuple(lived.accounts))

    for name, state in stored.items():
        tiers = lived.meter(name).read(NOW.timestamp())
        assert [round(tier.spent / tier.capacity, 4) for tier in tiers] == [window.used for window in state.windows]


def test_what_runs_have_returned_lies_in_the_artifact_store(lived, store):
    gave = {one.uuid: one for one in spawned.recent(store, 200) if one.returned}
    family = [one for one in gave.values() if one.parent_row_id in {other.row_id for other in gave.values()}]
    writer = next(one for one in gave.values() if one.session_id is not None)

    with closing(Engine(Surroundings(paths=from_environment(world.environment_for(lived))))) as engine:
        kept = engine.artifacts.of_session((writer.session_id,))
        returned = [engine.artifacts.of_run(uuid).returned for uuid in gave]

    assert ["review.md"] == [one.returned[0] for one in family]
    assert ([2, 2, 1], {"draft", "bread.md"}) == (
        [max(one.number for one in group) for group in (kept.kept, kept.sent, kept.returned)],
        {one.address.name for one in (*kept.kept, *kept.sent, *kept.returned)},
    )
    assert [1, 1, 1] == [len(one) for one in returned]


def test_every_story_is_a_conversation_that_the_scan_has_read(store):
    counted = store.rows("SELECT COUNT(*) FROM session_chains")[0][0]

    assert len(STORIES) == counted


def test_one_conversation_has_two_thousand_turns_and_some_lie_near_their_purge(lived):
    transcripts = list(lived.home.glob(".demo-claude*/projects/*/*.jsonl"))
    ages = [NOW - datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in transcripts]

    assert max(len(path.read_bytes().splitlines()) for path in transcripts) > 2000
    assert any(timedelta(days=27) < age < timedelta(days=30) for age in ages)


def test_transcripts_hold_what_real_ones_hold(lived):
    text = b"".join(path.read_bytes() for path in lived.home.glob(".demo-*/**/*.jsonl")).decode()

    marks = ('"thinking"', '"tool_use"', '"tool_result"', '"isSidechain":true', '"isCompactSummary":true', "```rust")
    assert [] == [mark for mark in (*marks, '"reasoning"', '"function_call"', '"compacted"') if mark not in text]


def test_some_agents_were_started_by_agents_and_some_failed(store):
    runs = spawned.recent(store, 500)
    by_row = {run.row_id: run for run in runs}

    depths = [by_row[run.parent_row_id].parent_row_id is not None for run in runs if run.parent_row_id is not None]
    assert any(depths)
    assert 3 < sum(run.status == "failed" for run in runs) < len(runs) / 3


def test_workspaces_can_be_worked_in(lived):
    assert all((lived.home / space.folder / name).is_file() for space in WORKSPACES.values() for name in space.files)


def test_second_call_changes_nothing(lived):
    before = sorted((str(path), path.stat().st_mtime_ns) for path in lived.home.rglob("*.jsonl"))

    assert demo_past.ensure(lived) is False
    assert before == sorted((str(path), path.stat().st_mtime_ns) for path in lived.home.rglob("*.jsonl"))


def test_build_that_was_cut_off_is_finished_with_the_same_files(tmp_path):
    built = world.build(tmp_path / "demo")
    demo_past.ensure(built, NOW.timestamp())
    files = {path: path.read_bytes() for path in built.home.rglob("*.jsonl")}
    note = next(built.root.glob(".oulipoly-demo-past.json"))
    note.write_text(json.dumps({"anchor": NOW.timestamp(), "is_done": False}))
    next(iter(files)).unlink()

    assert demo_past.ensure(built) is True
    assert files == {path: path.read_bytes() for path in built.home.rglob("*.jsonl")}


def test_nothing_of_the_past_names_another_folder(lived):
    cwds = {
        json.loads(line).get("cwd")
        for path in lived.home.glob(".demo-claude*/projects/*/*.jsonl")
        for line in path.read_text().splitlines()[:3]
    }

    assert all(Path(cwd).is_relative_to(lived.home.resolve()) for cwd in cwds if cwd)
