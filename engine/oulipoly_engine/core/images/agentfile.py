"""What an Agentfile says, as records whose JSON form is an image's config blob. Pure.

The keys of that form are the ones of openotters/agentfile:1; an agent of theirs reads ours, and the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from oulipoly_engine.core.images import names
from oulipoly_engine.core.images.refusals import AgentfileInvalid
from oulipoly_engine.records import Record, field

SYNTAX = "openotters/agentfile:1"
SCRATCH = "scratch"
DEFAULT_EXEC = ("serve",)
DEEPEST = 10  # parents of parents
ConfigValue = bool | int | float | str


class Context(Record, omit_defaults=True):
    """A text that shapes the agent. Either its content stands in the Agentfile, or it has a file beside it."""

    name: str
    description: str = ""
    content: str = ""
    file: str = ""  # below the Agentfile's folder


class Config(Record, omit_defaults=True):
    """A setting of the runtime."""

    key: str
    value: ConfigValue | None = None  # None: it has no default
    description: str = ""
    required: bool = False


class Bin(Record, omit_defaults=True):
    """A tool, out of an image of its own."""

    name: str
    image: str
    description: str = ""
    usage: str = ""


class Add(Record, omit_defaults=True):
    """A file of the image."""

    src: str  # below the Agentfile's folder
    name: str = field(name="dst", default="")  # in the agent's data folder
    description: str = ""


class Env(Record, omit_defaults=True):
    """A variable of the agent's processes."""

    key: str
    value: str
    description: str = ""


_ItemT = TypeVar("_ItemT", Context, Env)


class Agent(Record, omit_defaults=True):
    """Everything that an Agentfile declares."""

    base: str = field(name="from")  # a reference, or `scratch`
    runtime: str = ""
    model: str = ""
    name: str = ""
    contexts: tuple[Context, ...] = ()
    configs: tuple[Config, ...] = ()  # in order of writing: of one key, the last counts
    bins: tuple[Bin, ...] = ()
    adds: tuple[Add, ...] = ()
    exec: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    args: dict[str, str] = field(default_factory=dict)
    envs: tuple[Env, ...] = ()
    capabilities: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return what the runtime is started with."""
        return self.exec or DEFAULT_EXEC


class Agentfile(Record, omit_defaults=True):
    """An Agentfile. origins: by `context SOUL`, `model` and the like, the `FILE:LINE` that said it last."""

    syntax: str
    agent: Agent
    origins: dict[str, str] = field(default_factory=dict)


def put_all(items: Iterable[_ItemT], others: Iterable[_ItemT], key: Callable[[_ItemT], str]) -> tuple[_ItemT, ...]:
    """Return items with others in the places of those of the same names, or behind the last."""
    by_key = {key(item): item for item in items}
    by_key.update((key(other), other) for other in others)
    return tuple(by_key.values())


def flatten_configs(configs: Iterable[Config]) -> tuple[Mapping[str, ConfigValue], tuple[str, ...]]:
    """Return the value of each key that has one, and the keys that need one and have none, sorted.

    Of one key the last writer counts, also one that takes a value away; a requirement stays. An empty text is a value.
    """
    values: dict[str, ConfigValue] = {}
    required: set[str] = set()
    for config in configs:
        if config.required:
            required.add(config.key)
        values.pop(config.key, None)
        if config.value is not None:
            values[config.key] = config.value
    return values, tuple(sorted(required - values.keys()))


def require_configs(configs: Iterable[Config]) -> Mapping[str, ConfigValue]:
    """Return the value of each key. Raises AgentfileInvalid where a required one has none."""
    values, missing = flatten_configs(configs)
    if missing:
        raise AgentfileInvalid(f"required CONFIG is not set: {', '.join(missing)}: give each a value", missing=missing)
    return values


def check_agent(agent: Agent) -> None:
    """Raise AgentfileInvalid for a name that an Agentfile could not have; images of others may have any."""
    for what, problem in _problems(agent):
        if problem:
            raise AgentfileInvalid(f"{what[:120]!r} {problem}")


def _problems(agent: Agent) -> Iterable[tuple[str, str]]:
    if agent.name:
        yield f"NAME {agent.name}", names.check_path_safe(agent.name)
    yield from ((f"CONTEXT {each.name}", names.check_context(each.name)) for each in agent.contexts)
    yield from ((f"CONFIG {each.key}", names.check_label(each.key)) for each in agent.configs)
    yield from ((f"BIN {each.name}", names.check_path_safe(each.name)) for each in agent.bins)
    yield from ((f"ADD {each.name}", names.check_path_safe(each.name)) for each in agent.adds)
    yield from ((f"ENV {each.key}", names.check_variable(each.key)) for each in agent.envs)
    yield from ((f"CAPABILITY {name}", names.check_label(name)) for name in agent.capabilities)
    for key, those in (
        ("CONTEXT", [each.name for each in agent.contexts]),
        ("BIN", [each.name for each in agent.bins]),
        ("ADD", [each.name for each in agent.adds]),
    ):
        yield from ((f"{key} {name}", "stands there twice") for name in _repeated(those))


def _repeated(names_given: Sequence[str]) -> Iterable[str]:
    return (name for name, count in Counter(names_given).items() if count > 1)
