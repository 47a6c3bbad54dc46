"""The running agents: a list, and a page for each with its log, a prompt and its end."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.facade.agents.standings import AgentStanding
from oulipoly_engine.facade.snapshot import Snapshot
from oulipoly_engine.web.api import agents
from oulipoly_engine.web.api.agents import find_agent
from oulipoly_engine.web.api.engine import NotFound
from oulipoly_engine.web.base.agent_bodies import AgentPrompt
from oulipoly_engine.web.pages.page import Page, get, post
from oulipoly_engine.web.pages.words import standing_of

_LOG_LINES = 60
_MOST_SESSIONS = 6


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [
        get("/running-agents", _list, "agent ps"),
        get("/running-agents/{agent_id}", _show, "agent inspect"),
        post("/running-agents/{agent_id}/prompt", _prompt, "agent prompt"),
        post("/running-agents/{agent_id}/stop", _stop, "agent stop"),
    ]


def _list(page: Page) -> Response:
    snapshot = page.engine.snapshot()
    rows = [(each, describe_use(each, snapshot)) for each in page.engine.agent_list.list()]
    return page.show("agents.html", rows=rows)


def _show(page: Page) -> Response:
    agent_id = find_agent(page.engine, page.path["agent_id"])
    standing = next((each for each in page.engine.agent_list.list() if each.agent.agent_id == agent_id), None)
    if standing is None:
        raise NotFound("the agent is removed")
    sessions = page.engine.agents.list_sessions(agent_id)[:_MOST_SESSIONS]
    return page.show(
        "agent.html",
        standing=standing,
        agent=standing.agent,
        used=describe_use(standing, page.engine.snapshot()),
        sessions=[(work, standing_of(work)) for work in sessions],
        lines=page.engine.agents.read_log(agent_id, _LOG_LINES),
    )


def _prompt(page: Page) -> Response:
    body = AgentPrompt.model_construct(text=page.field("text"))
    asked = page.ask(agents.prompt, agent_id=page.path["agent_id"], body=body)
    return page.go(f"/sessions/{asked['session_id']}")


def _stop(page: Page) -> Response:
    stopped = page.ask(agents.stop, agent_id=page.path["agent_id"])
    return page.go(f"/running-agents/{stopped['agent_id']}")


def describe_use(standing: AgentStanding, snapshot: Snapshot) -> str:
    """Return what is used of the account of an agent, in the app's words; empty: it has none."""
    account = snapshot.account(standing.account) if standing.account else None
    return "" if account is None else account.describe_use(snapshot.at)[1]
