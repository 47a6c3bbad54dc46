"""What an agent is made of: its Agentfile with its contents, and what the user says instead. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oulipoly_engine.core.agents.agents import (
    OWN_RUNTIME,
    AgentPlan,
    Overrides,
    PlannedContext,
    PlannedFile,
    PlannedTool,
    PlannedVariable,
)
from oulipoly_engine.core.agents.capabilities import keep_known
from oulipoly_engine.core.images.agentfile import (
    Agentfile,
    Config,
    ConfigValue,
    Env,
    check_agent,
    put_all,
    require_configs,
)
from oulipoly_engine.core.images.refusals import AgentfileInvalid
from oulipoly_engine.errors import UsageInvalid


def make_plan(
    agentfile: Agentfile,
    contexts: Mapping[str, bytes],
    digests: Mapping[str, str],
    overrides: Overrides,
    source: str = "",
) -> AgentPlan:
    """Return what an agent is made of.

    agentfile: with what its parents give it. contexts: the texts of those that have none of their own, by name.
    digests: of the files, `add NAME`. source: the Agentfile as it was written. Raises AgentfileInvalid for a required
    CONFIG without a value and for hostile names, UsageInvalid for a tool that is not declared.
    """
    agent = agentfile.agent
    check_agent(agent)
    settings = (Config(key, value) for key, value in overrides.configs.items())
    configs = require_configs((*agent.configs, *settings))
    variables = put_all(agent.envs, (Env(key, value) for key, value in overrides.variables), lambda env: env.key)
    _refuse_unknown(overrides.tools, [tool.name for tool in agent.bins])
    return AgentPlan(
        model=overrides.model or agent.model,
        runtime=overrides.runtime or agent.runtime or OWN_RUNTIME,
        exec_words=agent.exec,
        contexts=tuple(
            PlannedContext(each.name, each.content or _read_text(contexts, each.name), each.description)
            for each in agent.contexts
        ),
        configs={key: _to_text(value) for key, value in configs.items()},
        variables=tuple(PlannedVariable(each.key, each.value, each.description) for each in variables),
        tools=tuple(
            PlannedTool(each.name, each.image, "", each.description, each.usage, overrides.tools.get(each.name, ""))
            for each in agent.bins
        ),
        files=tuple(PlannedFile(each.name, digests[f"add {each.name}"], each.description) for each in agent.adds),
        capabilities=keep_known((*agent.capabilities, *overrides.capabilities)),
        mounts=overrides.mounts,
        profile=overrides.profile,
        source_text=source,
        overrides=overrides,
    )


def parse_pairs(texts: Iterable[str], option: str) -> tuple[tuple[str, str], ...]:
    """Read KEY=VALUE as an option gives it. Raises UsageInvalid, which names the option."""
    pairs = []
    for text in texts:
        key, is_pair, value = text.partition("=")
        if not (key and is_pair):
            raise UsageInvalid(f"{option} takes KEY=VALUE, not {text[:80]!r}: expected key=value")
        pairs.append((key, value))
    return tuple(pairs)


def _refuse_unknown(tools: Mapping[str, str], declared: list[str]) -> None:
    for name in tools:
        if name not in declared:
            listed = ", ".join(sorted(declared)) or "(none)"
            raise UsageInvalid(f"--tool {name[:80]!r} is not a tool of the agent; it declares: {listed}")


def _read_text(contexts: Mapping[str, bytes], name: str) -> str:
    try:
        return contexts.get(name, b"").decode()
    except UnicodeDecodeError as error:
        raise AgentfileInvalid(f"CONTEXT {name} is not UTF-8 text") from error


def _to_text(value: ConfigValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
