"""The running agents on a phone: listed, prompted, read, stopped after a question."""

import re

import pytest

from oulipoly_engine.facade.agents.agents import AgentWish

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def test_agent_is_found_prompted_and_stopped(phone, server, axe):
    folder = server.live.root / "x"
    folder.mkdir()
    (folder / "Agentfile").write_text("FROM scratch\nNAME x\nMODEL demo-codex\n")
    agent = server.live.engine.agents.run(AgentWish(str(folder), "calm", "none"))
    phone.get_by_role("link", name="Agents", exact=True).tap()
    row = phone.get_by_role("link", name="calm")
    row.get_by_text("ready", exact=True).wait_for()
    wrong = {"list": axe(phone)}
    row.tap()
    phone.get_by_label("Prompt, in a session of its own").fill("How are you?")
    phone.get_by_role("button", name="Ask agent").tap()
    phone.wait_for_url(re.compile("/sessions/"))
    phone.locator("#standing", has_text="ready").wait_for()
    phone.goto(f"{server.url}/running-agents/{agent.agent_id}")
    phone.get_by_role("heading", name="calm").wait_for()
    wrong["page"] = axe(phone)
    phone.get_by_text("Log", exact=True).tap()
    phone.get_by_label("Log").get_by_text("ready, isolation none").wait_for()
    phone.get_by_role("button", name="Stop agent").tap()
    phone.get_by_role("heading", name="Stop agent?").wait_for()
    phone.get_by_role("button", name="Stop agent").tap()
    phone.locator("#standing b", has_text="stopped").wait_for()

    assert {"list": [], "page": []} == wrong
    assert "stopped" == server.live.engine.agents.find("calm").status
