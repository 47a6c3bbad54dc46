"""What answers about running agents and their images hold: the same as `--json` prints."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path as PathParameter
from pydantic import BaseModel, Field

from oulipoly_engine.core.images.info import ImageInfo
from oulipoly_engine.web.base.bodies import Body, Name, Text
from oulipoly_engine.web.base.record_models import model_of

AgentId = Annotated[
    str, PathParameter(pattern=r"^[0-9A-Za-z._-]{1,64}$", description="A running agent's name, or its id's beginning.")
]
Image: Any = model_of(ImageInfo)


class AgentChanged(BaseModel):
    """How an agent stands since something was done to it."""

    agent_id: str
    name: str
    status: str
    isolation: str


class AgentLogin(BaseModel):
    """Whether the login of an account is within an agent's reach."""

    account: str
    is_in_reach: bool
    reason: str | None = Field(description="Why it is.")


class RunningAgent(BaseModel):
    """A running agent."""

    agent_id: str
    name: str
    status: str
    reason: str | None = Field(description="Of a failure.")
    problem: str | None
    isolation: str | None
    logins: list[AgentLogin] = Field(description="Of the accounts that can serve it; empty: it does not run.")
    in_flight: int = Field(description="Turns and tools that run.")
    account: str | None = Field(description="Of its newest session.")
    model: str | None
    runtime: str
    source: str
    digest: str | None
    created_at: str
    updated_at: str


class RunningAgents(BaseModel):
    """The running agents, oldest first."""

    agents: list[RunningAgent]


class ToolRun(BaseModel):
    """A tool that was run, at once or as a job."""

    job_id: str
    agent_id: str
    kind: str
    tool: str
    arguments: list[str]
    labels: dict[str, str]
    status: str
    exit_code: int | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    problem: str | None
    created_at: str
    begun_at: str | None
    ended_at: str | None


class Jobs(BaseModel):
    """The jobs, the newest first."""

    jobs: list[ToolRun]


class RunningAgentDetails(RunningAgent):
    """All that is known of a running agent."""

    address: str | None = Field(description="Where its own runtime answers; null: it has none.")
    root: str
    workspace: str
    configs: dict[str, str]
    variables: list[str]
    variables_left_out: list[str]
    tools: list[dict[str, str | None]]
    mounts: list[dict[str, str | bool]]
    capabilities: list[str]
    capabilities_unreached: str | None = Field(description="Why its programs reach the tools of none.")
    profile: str | None
    sessions: list[str]
    history: list[dict[str, str | None]]
    runs_of_tools: list[ToolRun]
    isolation_report: dict[str, Any]


class LogLines(BaseModel):
    """The last lines of an agent's log."""

    lines: list[str]


class Images(BaseModel):
    """The images of agents."""

    images: list[Image]


class AgentPrompt(Body):
    """What an agent is asked."""

    text: Text


class AgentAsked(BaseModel):
    """The session that a prompt has begun; its messages are those of `/sessions/{session_id}`."""

    session_id: str
    turn_id: str


class AgentTool(BaseModel):
    """A tool that the token of an agent gives."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its arguments.")


class AgentTools(BaseModel):
    """What the token of an agent gives now."""

    tools: list[AgentTool]


class ToolCall(Body):
    """One call of a tool."""

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolAnswer(BaseModel):
    """What a tool has answered, without what is known as a secret."""

    answer: str
