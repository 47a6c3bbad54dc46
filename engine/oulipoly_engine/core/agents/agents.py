"""A running agent, what it is made of, and the tools that were run in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from oulipoly_engine.core.agents.containers import BASE_IMAGE, CONTAINER, ContainerPlan
from oulipoly_engine.core.agents.limits import AgentLimits
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.agents.states import Reason, Standing, Status
from oulipoly_engine.records import Record

OWN_RUNTIME = "builtin:runner"  # live sessions on the user's own accounts
JOB_OPEN = ("pending", "running")

JOB: Mapping[tuple[str, str], str] = {  # a tool that is run, by (status, event)
    ("pending", "begin"): "running",
    ("pending", "cancel"): "cancelled",
    ("pending", "fail"): "error",
    ("running", "end"): "done",
    ("running", "fail"): "error",
    ("running", "cancel"): "cancelled",
    ("running", "orphan"): "orphaned",  # whoever ran it is gone
}


class PlannedContext(Record):
    """One text that an agent is given."""

    name: str  # AGENT, WORKSPACE and MOUNTS are ours
    text: str
    description: str = ""


class PlannedTool(Record):
    """One program that an agent may run."""

    name: str
    ref: str = ""
    digest: str = ""
    description: str = ""
    usage: str = ""  # how it is used, by the Agentfile
    program: str = ""  # the file that is copied into the tree; empty: its image brings it, or nothing does
    image_usage: str = ""  # how it is used, by its image: what counts where the Agentfile says nothing

    @property
    def manual(self) -> str:
        """Return the text of its USAGE.md; empty: it has none."""
        return self.usage or self.image_usage


class PlannedFile(Record):
    """One file below etc/data."""

    name: str
    digest: str = ""  # of its content, which lies among the images
    description: str = ""


class PlannedVariable(Record):
    """One variable of the image or of the user."""

    name: str
    value: str
    description: str = ""


class Overrides(Record):
    """What the user says instead of the image, or beside it."""

    model: str = ""
    runtime: str = ""
    configs: Mapping[str, str] = {}
    variables: tuple[tuple[str, str], ...] = ()
    tools: Mapping[str, str] = {}  # the program of a declared tool, as an absolute path
    mounts: tuple[Mount, ...] = ()
    profile: str = ""
    capabilities: tuple[str, ...] = ()  # besides those of the image, as labels
    addresses: tuple[str, ...] = ()  # that a sealed box reaches by its proxy
    base_image: str = BASE_IMAGE  # of its containers
    limits: AgentLimits = AgentLimits()


class AgentPlan(Record):
    """What an agent is made of: its image with all that the user says instead. Kept with the agent, as JSON.

    Until the image was read it has the overrides alone.
    """

    model: str = ""  # `provider/name`, or a model of the user's
    runtime: str = OWN_RUNTIME
    exec_words: tuple[str, ...] = ()
    contexts: tuple[PlannedContext, ...] = ()
    configs: Mapping[str, str] = {}
    variables: tuple[PlannedVariable, ...] = ()
    tools: tuple[PlannedTool, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    capabilities: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    profile: str = ""  # of its sessions: what they may do without asking; empty: as new sessions have it
    address: str = ""  # of its own runtime: `host:port`, or `unix:PATH` of a sealed one
    container: ContainerPlan = ContainerPlan()  # of the isolation of that name
    group: tuple[str, ...] = ()  # the folders of the control group of all its processes; none: it has none
    runtime_digest: str = ""  # of the image that its runtime comes from
    source_text: str = ""  # the Agentfile as it was written
    overrides: Overrides = Overrides()  # what went into it


class Agent(Record):
    """One agent."""

    agent_id: str
    name: str
    source: str  # the reference or the path that it was run from
    isolation: str
    status: Status
    created_at: datetime
    updated_at: datetime
    digest: str = ""
    plan: AgentPlan = AgentPlan()
    reason: Reason = ""
    problem: str = ""  # in words
    owner: str = ""

    @property
    def has_own_runtime(self) -> bool:
        """Return whether a program of its own runs it, not a CLI of the user's accounts."""
        return self.plan.runtime != OWN_RUNTIME

    @property
    def why_without_tools(self) -> str:
        """Return why no program of it reaches the tools of its capabilities; empty: its CLI does, or it has none."""
        if self.plan.capabilities and self.has_own_runtime:
            return "they are given to CLIs, not to a runtime of its own"
        if self.plan.capabilities and self.isolation == CONTAINER:
            return "their socket is not in containers"
        return ""

    @property
    def is_ready(self) -> bool:
        """Return whether it can be asked: it is ready, or works already."""
        return self.status in ("ready", "working")

    @property
    def standing(self) -> Standing:
        """Return how it stands."""
        return Standing(self.status, self.reason)


class Change(Record):
    """One change of an agent's status."""

    at: datetime
    status: Status
    reason: Reason = ""
    detail: str = ""


class Job(Record):
    """One tool that was run in an agent, at once or as a job in the background."""

    job_id: str
    agent_id: str
    kind: Literal["exec", "job"]
    tool: str
    status: str
    created_at: datetime
    arguments: tuple[str, ...] = ()
    input: str = ""
    labels: Mapping[str, str] = {}
    owner: str = ""
    handle: str = ""  # `pid ticks place` of the tool's process, which leads its group
    exit_code: int | None = None
    stdout: str = ""  # its end
    stderr: str = ""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    problem: str = ""
    begun_at: datetime | None = None
    ended_at: datetime | None = None
