"""config.toml and sessions.toml: the settings, and the scripts that find turns and transcripts."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.config import legacy, schema
from oulipoly_engine.config.accounts_file import filled, name_faults
from oulipoly_engine.config.problem import Fault, Loaded
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.accounts import SessionScripts, Settings
from oulipoly_engine.paths import Paths


def read_settings(paths: Paths) -> Loaded[Settings]:
    """Read config.toml; a file with an error counts as empty, whole (contract, section 2.1)."""
    file = toml_file.read(paths.settings)
    if file.failure is not None:
        return Loaded(Settings(), (file.failure,))
    table, faults = schema.check(schema.SettingsTable, file.data)
    if table is None:
        return Loaded(Settings(), file.problems(faults))
    settings = Settings(
        diagnostics_model=filled(table.diagnostics_model),
        default_provider=filled(table.default_provider),
        tie_rule=table.tie_rule,
        routing_ttl_s=table.routing_ttl_seconds,
        attach_leave_key=table.attach_leave_key,
        archive=table.archive,
        archive_limit_bytes=table.archive_limit_mb << 20,
        preimage_limit_bytes=table.preimage_limit_mb << 20,
    )
    return Loaded(settings, file.problems(faults))


def read_sessions(paths: Paths) -> Loaded[Mapping[str, SessionScripts]]:
    """Read every entry of sessions.toml that can be read, and all problems of the file."""
    file = toml_file.read(paths.sessions)
    if file.failure is not None:
        return Loaded({}, (file.failure,))
    scripts: dict[str, SessionScripts] = {}
    faults: list[Fault] = []
    for name, raw in file.data.items():
        named = tuple(name_faults(name))
        table, found = schema.check(schema.ScriptsTable, raw, (name,))
        faults += (*named, *found)
        if table is not None and not named:
            state_dir = None if table.state_dir is None else legacy.expand(table.state_dir, paths.home)
            scripts[name] = SessionScripts(table.turn_script, filled(table.transcript_locator), state_dir)
    return Loaded(scripts, file.problems(faults, in_tables=True))
