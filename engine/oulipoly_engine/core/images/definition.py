"""An agent definition, `agents/*.md`, as an Agentfile. Pure."""

from __future__ import annotations

from oulipoly_engine.core.accounts.accounts import Agent as Definition
from oulipoly_engine.core.images import names
from oulipoly_engine.core.images.agentfile import Agentfile
from oulipoly_engine.core.images.parser import parse_agentfile
from oulipoly_engine.core.images.refusals import AgentfileInvalid


def write_agentfile(definition: Definition) -> bytes:
    """Return the Agentfile of a definition: its body becomes the context SOUL. Raises AgentfileInvalid."""
    name = definition.name.strip().replace(" ", "-")
    problem = names.check_path_safe(name)
    if problem:
        raise AgentfileInvalid(f"the agent's name {definition.name[:80]!r} {problem}: rename its file")
    lines = ["FROM scratch", f"NAME {name}"]
    if definition.model:
        lines.append(f"MODEL {definition.model}")
    for key, value in (("description", definition.description), ("output_format", definition.output_format)):
        if value:
            lines.append(f"LABEL {key}={_quote(value)}")
    mark = "SOUL"
    body = definition.body.strip("\n")
    while any(line.strip() == mark for line in body.split("\n")):
        mark += "_"
    lines += [f"CONTEXT SOUL <<{mark}", body, mark, ""]
    return "\n".join(lines).encode("utf-8", "replace")


def compile_definition(definition: Definition) -> Agentfile:
    """Return what an agent definition is as an Agentfile. Raises AgentfileInvalid."""
    return parse_agentfile(write_agentfile(definition), f"{definition.name}.md")


def _quote(text: str) -> str:
    line = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{line}"'
