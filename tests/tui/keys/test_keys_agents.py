"""Every key of the Agents pane, on agents and on images."""

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, PlannedTool
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import open_store

keys = pytest.mark.keys


@pytest.fixture
def world(app_world, tmp_path):
    """An agent that is ready, has a tool and a session, user that has failed, and two images that differ."""
    now = SystemClock().now()
    plan = AgentPlan(model="opus", tools=(PlannedTool("greet"),), source_text="x")
    store = open_store(from_environment().state_db)
    agents.insert(store, Agent("aaaa1111", "calm", "/tmp/calm", "none", "ready", now, now, plan=plan))
    agents.add_session(store, "aaaa1111", "cccc3333", now)
    agents.insert(store, Agent("bbbb2222", "lost", "/nowhere/lost", "", "pulling", now, now))
    agents.move(store, "bbbb2222", "fail", now, reason="pull", detail="there is none")
    store.close()
    engine = Engine()
    for version in ("v1", "v2"):
        tmp_path.joinpath("Agentfile").write_text(f"FROM scratch\nNAME meteo\nMODEL opus\nENV V={version}\n")
        engine.images.build(tmp_path, (f"meteo:{version}",))
    engine.close()


@keys("frame.pane7", "7")
@keys("agents.run", "r")
@keys("agents.prompt", "p")
@keys("agents.exec", "e")
@keys("agents.job", "b")
@keys("agents.jobs", "J")
@keys("agents.logs", "l")
@keys("agents.inspect", "i")
@keys("agents.start", "s")
@keys("agents.stop", "x")
@keys("agents.remove", "d")
@keys("agents.chat", "c")
@keys("agents.view", "v")
@keys("agents.parts", "I")
@keys("agents.diff", "D")
@keys("agents.tag", "T")
@keys("agents.delete", "X")
async def test_keys_of_agents_and_images_do_what_they_say(world, hand):
    async with hand(panes=("pools", "live", "agents"), size=(100, 30)) as user:
        await user.press("7")
        await user.sees("calm", "failed: pull")
        await user.walk(ask_first, read, start_and_stop, look_at_images, chat)


async def ask_first(user):
    await user.choose("agents", "calm")
    for key, title in (("r", "Run an agent"), ("p", "Ask calm"), ("e", "Run greet"), ("b", "Run greet")):
        await user.press(key)
        await user.at("Question")
        assert title == user.title
        await user.back()


async def read(user):
    await user.press("J")
    await user.told("calm has no jobs")
    for key, words in (("l", "Nothing was logged."), ("i", "aaaa1111"), ("enter", "aaaa1111")):
        await user.press(key)
        await user.at("Reading")
        await user.sees(words)
        await user.back()


async def start_and_stop(user):
    await user.choose("agents", "lost")
    await user.press("s")
    await user.told("could not be started")
    await user.press("d")
    await user.at("Confirm")
    await user.press("y")
    await user.misses("failed: pull")


async def look_at_images(user):
    await user.press("v")
    await user.sees("meteo:v1")
    await user.choose("agents", "meteo:v1")
    await user.press("I")
    await user.at("Reading")
    await user.sees("env V")
    await user.back()
    await user.press("D")
    await user.at("Choice")
    user.app.screen.query_one("VirtualList").go_to("meteo:v2")
    await user.press("enter")
    await user.at("Reading")
    await user.sees("v1 -> v2")
    await user.back()
    await user.press("T")
    await user.at("Question")
    await user.type("meteo:old")
    await user.press("enter")
    await user.sees("meteo:old")
    await user.press("X")
    await user.at("Confirm")
    await user.press("y")
    await user.misses("meteo:old")
    await user.press("v")
    await user.sees("ready")


async def chat(user):
    await user.choose("agents", "calm")
    await user.press("c")
    await user.until(lambda: user.pane == "live")
    await user.turn_to("agents")
    await user.press("x")
    await user.at("Confirm")
    await user.press("y")
    await user.sees("stopped")
