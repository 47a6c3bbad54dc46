"""Running agents, their jobs and images: looked at, asked, started, stopped. They are run on the computer alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from oulipoly_engine.errors import AgentNotFound
from oulipoly_engine.facade.agents.documents import agent_json, details_json, job_json, standing_json
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.records import asdict
from oulipoly_engine.web.access.viewer import check_grant
from oulipoly_engine.web.api.engine import Anyone, NotFound, TheEngine, serves
from oulipoly_engine.web.base import agent_bodies
from oulipoly_engine.web.base.agent_bodies import AgentId
from oulipoly_engine.web.base.answers import Json

router = APIRouter(tags=["agents"])

_MOST_LINES = 1000


@router.get("/running-agents", **serves("agent ps"), response_model=agent_bodies.RunningAgents)
def list_agents(engine: TheEngine, _viewer: Anyone) -> Json:
    """List the running agents."""
    return Json({"agents": [standing_json(standing) for standing in engine.agent_list.list(has_logins=True)]})


@router.get("/running-agents/{agent_id}", **serves("agent inspect"), response_model=agent_bodies.RunningAgentDetails)
def inspect(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Show all that is known of a running agent, the last runs of its tools among it."""
    return Json(details_json(engine.agents.inspect(_find(engine, agent_id))))


@router.get("/running-agents/{agent_id}/log", **serves("agent logs"), response_model=agent_bodies.LogLines)
def read_log(
    agent_id: AgentId, engine: TheEngine, _viewer: Anyone, lines: Annotated[int, Query(ge=1, le=_MOST_LINES)] = 200
) -> Json:
    """Show the last lines of an agent's log."""
    return Json({"lines": [*engine.agents.read_log(_find(engine, agent_id), lines)]})


@router.post("/running-agents/{agent_id}/start", **serves("agent start"), response_model=agent_bodies.AgentChanged)
def start(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Start a stopped or failed agent again, which runs its programs: a device needs a fresh confirmation."""
    return Json(agent_json(engine.agents.start(_find(engine, agent_id))))


@router.post("/running-agents/{agent_id}/stop", **serves("agent stop"), response_model=agent_bodies.AgentChanged)
def stop(agent_id: AgentId, engine: TheEngine, _viewer: Anyone) -> Json:
    """Stop an agent; its sessions' processes and its tools end."""
    return Json(agent_json(engine.agents.stop(_find(engine, agent_id))))


@router.post("/running-agents/{agent_id}/prompt", **serves("agent prompt"), response_model=agent_bodies.AgentAsked)
def prompt(agent_id: AgentId, body: agent_bodies.AgentPrompt, engine: TheEngine, viewer: Anyone) -> Json:
    """Send a prompt to an agent in a session of its own, and answer before it does.

    What the session may do unasked was said where the agent was run: a device needs what an answer in advance takes.
    """
    check_grant(viewer)
    session = engine.agents.begin_session(_find(engine, agent_id))
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


def _find(engine: Engine, identity: str) -> str:
    """Return the whole id of a running agent. Raises NotFound."""
    try:
        return engine.agents.find(identity).agent_id
    except AgentNotFound as error:
        raise NotFound(error.message) from error
