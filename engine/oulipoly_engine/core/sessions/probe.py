"""The document that `session schema-probe` prints, and when it is safe to replace a transcript. Pure."""

from __future__ import annotations

from collections.abc import Mapping

STORAGE_TYPES = ("claude_code", "codex_session", "other")
# What this version really does; a script asks here before it calls.
FEATURES: Mapping[str, bool] = {
    "session_locate": True,
    "session_export": True,
    "session_import_replace": True,
    "session_pause_handshake": True,
    "session_schema_probe": True,
}


def is_safe(*, exists: bool, compatible: bool, features: Mapping[str, bool], storage_types: tuple[str, ...]) -> bool:
    """Return whether a script may go on to `session import-replace` (contract, section 7)."""
    needed = ("session_import_replace", "session_pause_handshake")
    return (
        exists
        and compatible
        and all(features.get(name, False) for name in needed)
        and set(STORAGE_TYPES) <= set(storage_types)
    )


def document(
    *,
    version: str,
    features: Mapping[str, bool],
    path: str,
    exists: bool,
    schema_version: int,
    current: int,
    minimum: int,
    is_compatible: bool,
    is_migratable: bool,
    tables: Mapping[str, bool],
    columns: Mapping[str, Mapping[str, bool]],
    indexes: Mapping[str, Mapping[str, bool]],
) -> dict[str, object]:
    """Return the probe's JSON document, nested maps only."""
    return {
        "binary": {"name": "oulipoly-agent-runner", "version": version, "commit": None},
        "state_db": {
            "path": path,
            "exists": exists,
            "schema_version": schema_version,
            "user_version": schema_version,
            "current_schema_version": current,
            "minimum_supported_schema_version": minimum,
            "compatible": is_compatible,
            "migratable": is_migratable,
            "tables": dict(tables),
            "required_columns": {table: dict(names) for table, names in columns.items()},
            "required_indexes": {table: dict(names) for table, names in indexes.items()},
        },
        "features": dict(features),
        "supported_storage_types": list(STORAGE_TYPES),
        "safe_for_import_replace": is_safe(
            exists=exists, compatible=is_compatible, features=features, storage_types=STORAGE_TYPES
        ),
    }
