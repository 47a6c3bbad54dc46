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
    """An agent that is ready, has a tool and a session, one that has failed, and two images that differ."""
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
    async with hand(panes=("pools", "live", "agents"), size=(100, 30)) as one:
        await one.press("7")
        await one.sees("calm", "failed: pull")
        await one.walk(ask_first, read, start_and_stop, look_at_images, chat)


async def ask_first(one):
    await one.choose("agents", "calm")
    for key, title in (("r", "Run an agent"), ("p", "Ask calm"), ("e", "Run greet"), ("b", "Run greet")):
        await one.press(key)
        await one.at("Question")
        assert title == one.title
        await one.back()


async def read(one):
    await one.press("J")
    await one.told("calm has no jobs")
    for key, words in (("l", "Nothing was logged."), ("i", "aaaa1111"), ("enter", "aaaa1111")):
        await one.press(key)
        await one.at("Reading")
        await one.sees(words)
        await one.back()


async def start_and_stop(one):
    await one.choose("agents", "lost")
    await one.press("s")
    await one.told("could not be started")
    await one.press("d")
    await one.at("Confirm")
    await one.press("y")
    await one.misses("failed: pull")


async def look_at_images(one):
    await one.press("v")
    await one.sees("meteo:v1")
    await one.choose("agents", "meteo:v1")
    await one.press("I")
    await one.at("Reading")
    await one.sees("env V")
    await one.back()
    await one.press("D")
    await one.at("Choice")
    one.app.screen.query_one("VirtualList").go_to("meteo:v2")
    await one.press("enter")
    await one.at("Reading")
    await one.sees("v1 -> v2")
    await one.back()
    await one.press("T")
    await one.at("Question")
    await one.type("meteo:old")
    await one.press("enter")
    await one.sees("meteo:old")
    await one.press("X")
    await one.at("Confirm")
    await one.press("y")
    await one.misses("meteo:old")
    await one.press("v")
    await one.sees("ready")


async def chat(one):
    await one.choose("agents", "calm")
    await one.press("c")
    await one.until(lambda: one.pane == "live")
    await one.turn_to("agents")
    await one.press("x")
    await one.sees("stopped")
