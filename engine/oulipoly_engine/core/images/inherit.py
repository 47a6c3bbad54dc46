"""What an agent is together with its parents. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from oulipoly_engine.core.images.agentfile import DEEPEST, SCRATCH, Agent, Agentfile, put_all
from oulipoly_engine.core.images.refusals import AgentfileInvalid
from oulipoly_engine.records import replace


def inherit(parent: Agentfile, child: Agentfile) -> Agentfile:
    """Return a child with what it has from its parent, both as they count; it still names its parent.

    Of tools and files of the same name the child's count, where openotters would have both.
    """
    over = child.agent
    under = parent.agent
    is_other_runtime = bool(over.runtime)
    agent = Agent(
        base=over.base,
        runtime=over.runtime or under.runtime,
        model=over.model or under.model,
        name=over.name or under.name,
        contexts=put_all(under.contexts, over.contexts, lambda context: context.name),
        configs=over.configs if is_other_runtime else (*under.configs, *over.configs),
        bins=tuple(({each.name: each for each in (*under.bins, *over.bins)}).values()),
        adds=tuple(({each.name: each for each in (*under.adds, *over.adds)}).values()),
        exec=over.exec or under.exec,
        labels=under.labels | over.labels,
        args=under.args | over.args,
        envs=put_all(under.envs, over.envs, lambda env: env.key),
        capabilities=tuple(dict.fromkeys((*under.capabilities, *over.capabilities))),
    )
    inherited = dict(_inherited_origins(parent, over.base, has_other_runtime=is_other_runtime))
    return replace(child, agent=agent, origins=inherited | child.origins)


def _inherited_origins(parent: Agentfile, base: str, *, has_other_runtime: bool) -> Iterator[tuple[str, str]]:
    for key, origin in parent.origins.items():
        if not (has_other_runtime and key.startswith("config ")):
            yield key, origin if " " in origin else f"{base} {origin}"  # a grandparent's names its image already


def resolve(child: Agentfile, find_parent: Callable[[str], Agentfile]) -> Agentfile:
    """Return an Agentfile with what all its parents give it.

    find_parent: returns a parent by the reference that FROM has; one that has been resolved already has `scratch`
    there. Raises what it raises, and AgentfileInvalid where parents are nested too deep, or in a circle.
    """
    chain = [child]
    while (base := chain[-1].agent.base) != SCRATCH:
        if len(chain) > DEEPEST:
            raise AgentfileInvalid(f"FROM is nested more than {DEEPEST} deep: is {base} its own parent?")
        chain.append(find_parent(base))
    resolved = chain.pop()
    while chain:
        resolved = inherit(resolved, chain.pop())
    return resolved
