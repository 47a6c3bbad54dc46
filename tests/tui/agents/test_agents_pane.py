"""The Agents pane: what a row says, which keys do something for it, and what an empty list says."""

from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, PlannedTool
from oulipoly_engine.facade.agents.standings import AgentStanding
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import open_store
from oulipoly_tui.view.agents.agents import agent_lines

NAMES = ("calm", "bad\x1b[31m\u202e")  # the second one's from an image of anybody


@pytest.fixture
def running(running):
    """Open the app with the pane of pools beside ours."""
    return partial(running, (80, 24), panes=["pools", "agents", "live"], reads_quota=False)


@pytest.fixture
def two_agents(app_world):
    """One that is ready and has a tool, one that has failed."""
    now = SystemClock().now()
    plan = AgentPlan(model="opus", tools=(PlannedTool("greet"),), source_text="x")
    store = open_store(from_environment().state_db)
    agents.insert(store, Agent("aaaa1111", NAMES[0], "/tmp/calm", "none", "ready", now, now, plan=plan))
    agents.insert(store, Agent("bbbb2222", NAMES[1], "/tmp/bad", "", "pulling", now, now))
    agents.move(store, "bbbb2222", "fail", now, reason="model", detail="none of your models")
    store.close()


def _footer(app):
    return {action.id for action in app.works_now()}


async def test_rows_say_how_agents_stand_and_keys_do_what_each_can(two_agents, running, settled, screen_text):
    async with running() as (app, pilot):
        await pilot.press("7")
        pane = app.frame.current
        await settled(pilot, lambda: len(pane.query_one("#agents-list").rows) == 2)
        text = "\n".join(screen_text(app))
        assert "failed: model" in text
        assert not {"\x1b", "\u202e"} & set(text)
        assert {"agents.prompt", "agents.exec", "agents.stop"} <= _footer(app)
        assert "agents.start" not in _footer(app)

        await pilot.press("j")
        await settled(pilot, lambda: "agents.start" in _footer(app))
        assert "agents.stop" not in _footer(app)
        await settled(pilot, lambda: "none of your models" in "\n".join(screen_text(app)))

        await pilot.press("k", "d")
        await settled(pilot, lambda: app.screen is not app.frame)
        await pilot.press("y")
        await settled(pilot, lambda: len(pane.query_one("#agents-list").rows) == 1)

        await pilot.press("v")
        await settled(pilot, lambda: "No images yet." in "\n".join(screen_text(app)))
        assert {"agents.run", "agents.view"} == {name for name in _footer(app) if name.startswith("agents.")} - {
            "agents.cancel"
        }


async def test_changes_of_another_process_are_shown(two_agents, running, settled):
    async with running() as (app, pilot):
        await pilot.press("7")
        rows = app.frame.current.query_one("#agents-list")
        await settled(pilot, lambda: len(rows.rows) == 2)
        with_another = open_store(from_environment().state_db)
        agents.move(with_another, "aaaa1111", "stop", SystemClock().now())
        with_another.close()

        await settled(pilot, lambda: "stopped" in str(rows.rows[0].line))


def test_details_say_which_logins_an_agent_reaches():
    now = SystemClock().now()
    standing = AgentStanding(
        Agent("aaaa1111", "calm", "/tmp/calm", "guarded", "ready", now, now),
        logins={"claude1": "", "claude2": "", "codex1": "its \x1b[1mCLI reads it"},
    )
    text = "\n".join("".join(part for part, _ in line) for line in agent_lines(standing, None, now))
    assert "login      of claude1, claude2: kept on the host\n" in text
    assert "           of codex1: in its reach: its " in text
    assert "\x1b" not in text
