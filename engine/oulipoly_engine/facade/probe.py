"""What the state file is like, looked at without touching it."""

from __future__ import annotations

from oulipoly_engine import __version__
from oulipoly_engine.core.sessions.probe import FEATURES, document
from oulipoly_engine.errors import SchemaIncompatible
from oulipoly_engine.paths import Paths
from oulipoly_engine.store.base import schema
from oulipoly_engine.store.base.probe import probe


def state_document(paths: Paths) -> dict[str, object]:
    """Return the document that `session schema-probe` prints.

    Raises SchemaIncompatible for a state file that this program can neither use nor migrate.
    """
    found = probe(paths.state_db)
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
        raise SchemaIncompatible(
            f"the state file {found.path} has version {found.version} or a shape that this program "
            f"(version {schema.CURRENT_VERSION}) cannot use; {schema.WAY_OUT}"
        )
    return shown
