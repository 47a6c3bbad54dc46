"""`session schema-probe`: what the state file is like, looked at without touching it."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.facade import output
from oulipoly_engine.facade.probe import state_document


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the probe's document."""
    parser = Parser(prog=f"{context.program} {name}", command=name, more="It is not touched.")
    parser.parse(arguments)
    output.write_json(state_document(context.paths))
    return 0
