"""`session schema-probe`: what the state file is like, looked at without touching it."""

from __future__ import annotations

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.probe import state_document


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Print the probe's document."""
    Parser(prog=program, description=f"{command}: inspect the state file without touching it.").parse(arguments)
    output.write_json(state_document(context.paths))
    return 0
