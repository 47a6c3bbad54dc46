"""`session schema-probe`: what the state file is like, looked at without touching it."""

from __future__ import annotations

from oulipoly_engine import __version__
from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.core.sessions.probe import FEATURES, document
from oulipoly_engine.errors import SchemaIncompatible
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.probe import probe


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Print the probe's document."""
    parser = Parser(prog=program, description=f"{command}: inspect the state file without touching it.")
    parser.parse(arguments)
    found = probe(context.paths.state_db)
    shown = document(
        version=__version__,
        features=FEATURES,
        path=str(found.path),
        exists=found.exists,
        schema_version=found.version,
        current=schema.CURRENT_VERSION,
        minimum=schema.MINIMUM_VERSION,
        is_compatible=found.is_compatible,
        is_migratable=found.is_migratable,
        tables=found.has_table,
        columns=found.has_column,
        indexes=found.has_index,
    )
    if found.exists and not found.is_compatible and not found.is_migratable:
        message = (
            f"the state file {found.path} has version {found.version} or a shape that this program "
            f"(version {schema.CURRENT_VERSION}) cannot use; {schema.WAY_OUT}"
        )
        raise SchemaIncompatible(message)
    output.write_json(shown)
    return 0
