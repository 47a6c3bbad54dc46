"""Running agents, their jobs and images: looked at, asked, started, stopped. They are run on the computer alone."""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Annotated

from fastapi import APIRouter, Query

from oulipoly_engine.errors import AgentFailed, AgentNotFound
from oulipoly_engine.facade.agents.documents import agent_json, details_json, job_json, standing_json
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.records import asdict
from oulipoly_engine.web.access.gate import AGENT_TOOLS
from oulipoly_engine.web.access.viewer import check_agent_token, check_grant
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, serves
from oulipoly_engine.web.base import agent_bodies
from oulipoly_engine.web.base.agent_bodies import AgentId
from oulipoly_engine.web.base.answers import Json

router = APIRouter(tags=["agents"])

_MOST_LINES = 1000
_MOST_CALLS = 8  # of tools at once: each holds a thread of the server, and one that prompts holds it for minutes
_calls = BoundedSemaphore(_MOST_CALLS)


@router.get("/running-agents", **serves("agent ps"), response_model=agent_bodies.RunningAgents)
def list_agents(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the running agents."""
    return Json({"agents": [standing_json(standing) for standing in engine.agent_list.list(has_logins=True)]})


@router.get("/running-agents/{agent_id}", **serves("agent inspect"), response_model=agent_bodies.RunningAgentDetails)
def inspect(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Show all that is known of a running agent, the last runs of its tools among it."""
    return Json(details_json(engine.agents.inspect(find_agent(engine, agent_id))))


@router.get("/running-agents/{agent_id}/log", **serves("agent logs"), response_model=agent_bodies.LogLines)
def read_log(
    agent_id: AgentId, engine: TheEngine, _viewer: Anyone, lines: Annotated[int, Query(ge=1, le=_MOST_LINES)] = 200
) -> Json:
    """Show the last lines of an agent's log."""
    return Json({"lines": [*engine.agents.read_log(find_agent(engine, agent_id), lines)]})


@router.post("/running-agents/{agent_id}/start", **serves("agent start"), response_model=agent_bodies.AgentChanged)
def start(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Start a stopped or failed agent again, which runs its programs: a device needs a fresh confirmation."""
    return Json(agent_json(engine.agents.start(find_agent(engine, agent_id))))


@router.post("/running-agents/{agent_id}/stop", **serves("agent stop"), response_model=agent_bodies.AgentChanged)
def stop(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Stop an agent; its sessions' processes and its tools end."""
    return Json(agent_json(engine.agents.stop(find_agent(engine, agent_id))))


@router.post("/running-agents/{agent_id}/prompt", **serves("agent prompt"), response_model=agent_bodies.AgentAsked)
def prompt(agent_id: AgentId, body: agent_bodies.AgentPrompt, engine: TheEngine, viewer: Anyone) -> Json:
    """Send a prompt to an agent in a session of its own, and answer before it does.

    What the session may do unasked was said where the agent was run: a device needs what an answer in advance takes.
    """
    check_grant(viewer)
    session = engine.agents.begin_session(find_agent(engine, agent_id))
    sent = engine.live.send(session.session_id, body.text)
    return Json({"session_id": session.session_id, "turn_id": sent.turn_id})


@router.get("/jobs", **serves("job ls"), response_model=agent_bodies.Jobs)
def list_jobs(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the jobs of all agents, the newest first."""
    return Json({"jobs": [job_json(job) for job in engine.agents.list_jobs()]})


@router.get("/images", **serves("image ls"), response_model=agent_bodies.Images)
def list_images(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the images of agents."""
    return Json({"images": [asdict(image) for image in engine.images.list()]})


@router.get(AGENT_TOOLS, response_model=agent_bodies.AgentTools)
def list_tools(engine: TheEngine, viewer: Anyone) -> Json:
    """List the tools that the token of an agent gives, which the request shows as its bearer's."""
    tools = engine.agent_tools.list_tools(check_agent_token(viewer))
    words = ("name", "description", "parameters")
    return Json({"tools": [{word: getattr(tool, word) for word in words} for tool in tools]})


@router.post(AGENT_TOOLS, response_model=agent_bodies.ToolAnswer)
def call_tool(body: agent_bodies.ToolCall, engine: TheEngine, viewer: Anyone) -> Json:
    """Have a tool of an agent do what it does, and answer with what came of it; `agent-prompt` takes ten minutes."""
    token = check_agent_token(viewer)
    if not _calls.acquire(blocking=False):
        raise AgentFailed(f"{_MOST_CALLS} calls of agents are under way, which is the most: try it again")
    try:
        return Json({"answer": engine.agent_tools.call_tool(token, body.name, body.arguments)})
    finally:
        _calls.release()


def find_agent(engine: Engine, identity: str) -> str:
    """Return the whole id of a running agent. Raises NotFound."""
    try:
        return engine.agents.find(identity).agent_id
    except AgentNotFound as error:
        raise NotFound(error.message) from error
