"""What an update of an agent's image changes, before it runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from oulipoly_engine.core.images.agentfile import Agent, Agentfile
from oulipoly_engine.core.images.info import wanted_mounts, wanted_network
from oulipoly_engine.core.images.manifest import Descriptor
from oulipoly_engine.records import Record

Part = Literal["prompt", "tools", "permissions", "network", "mounts", "files", "environment", "settings"]
# In order of weight: a person looks at these first. More of the first five means that more may be done than before.
_WEIGHTY: tuple[Part, ...] = ("prompt", "tools", "permissions", "network", "mounts")


class Change(Record):
    """One thing that differs. Texts are secrets as little as the files that they stand in: a face redacts them."""

    part: Part
    name: str
    before: str | None  # None: it was not there
    after: str | None  # None: it is gone
    lines: tuple[str, ...] = ()  # of a text, how it differs: a unified diff

    @property
    def sign(self) -> str:
        """Return `+`, `-` or `~`."""
        if self.before is None:
            return "+"
        return "-" if self.after is None else "~"

    @property
    def is_weighty(self) -> bool:
        """Tell whether a person must look at it: the agent may do more than before, or is told something else."""
        return self.part in _WEIGHTY and self.after is not None


def compare_images(
    before: tuple[Agentfile, Mapping[str, Descriptor]], after: tuple[Agentfile, Mapping[str, Descriptor]]
) -> tuple[Change, ...]:
    """Return what differs between two agents, weighty things first.

    before, after: the Agentfile, and its layers by `context NAME` and `add NAME`.
    """
    old = dict(_facts(*before))
    new = dict(_facts(*after))
    keys = [*new, *(key for key in old if key not in new)]
    changes = [Change(*key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]
    return tuple(sorted(changes, key=lambda change: _ORDER.index(change.part)))


_ORDER: tuple[Part, ...] = (*_WEIGHTY, "files", "environment", "settings")


def _facts(agentfile: Agentfile, layers: Mapping[str, Descriptor]) -> Iterator[tuple[tuple[Part, str], str]]:
    agent: Agent = agentfile.agent
    if agent.model:
        yield ("prompt", "MODEL"), agent.model
    for context in agent.contexts:
        yield ("prompt", f"CONTEXT {context.name}"), layers[f"context {context.name}"].digest
    for tool in agent.bins:
        yield ("tools", f"BIN {tool.name}"), f"{tool.image} {tool.usage}".strip()
    if agent.runtime:
        yield ("tools", "RUNTIME"), agent.runtime
    if agent.exec:
        yield ("tools", "EXEC"), " ".join(agent.exec)
    yield from ((("permissions", f"CAPABILITY {name}"), "allowed") for name in agent.capabilities)
    yield from ((("network", address), "reached") for address in wanted_network(agent))
    for mount in wanted_mounts(agent):
        target, _, mode = mount.partition(":")
        yield ("mounts", target), mode or "rw"
    for file in agent.adds:
        yield ("files", f"ADD {file.name}"), layers[f"add {file.name}"].digest
    yield from ((("environment", f"ENV {env.key}"), env.value) for env in agent.envs)
    yield from ((("settings", f"CONFIG {config.key}"), repr(config.value)) for config in agent.configs)
    yield from ((("settings", f"LABEL {key}"), value) for key, value in agent.labels.items())
    if agent.name:
        yield ("settings", "NAME"), agent.name
