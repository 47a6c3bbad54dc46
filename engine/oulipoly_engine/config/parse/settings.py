"""config.toml, sessions.toml and prices.toml: settings, the scripts that find turns and transcripts, and prices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.config.base import legacy
from oulipoly_engine.config.base.problem import Fault, Level, Loaded
from oulipoly_engine.config.parse import settings_keys
from oulipoly_engine.config.parse.accounts import drop_blank, name_faults
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.settings import PriceTable, ScriptsTable, SettingsTable
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.accounts.accounts import SessionScripts, Settings
from oulipoly_engine.core.ledger.prices import Rate
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import replace


def parse_settings(paths: Paths, raw: bytes | None) -> Loaded[Settings]:
    """Return config.toml's settings; a file with an error counts as empty, whole (contract, section 2.1)."""
    file = toml_file.read(paths.settings, raw)
    if file.failure is not None:
        return Loaded(Settings(), (file.failure,))
    table, faults = check(SettingsTable, file.data)
    if table is None:
        return Loaded(Settings(), file.problems(faults))
    values = {key: getattr(table, key) for key in SettingsTable.model_fields}
    return Loaded(settings_keys.from_file(Settings, values), file.problems(faults))


def parse_sessions(paths: Paths, raw: bytes | None) -> Loaded[Mapping[str, SessionScripts]]:
    """Return every entry of sessions.toml that can be read, and all problems of the file."""
    file = toml_file.read(paths.sessions, raw)
    if file.failure is not None:
        return Loaded({}, (file.failure,))
    scripts: dict[str, SessionScripts] = {}
    faults: list[Fault] = []
    for name, raw in file.data.items():
        named = tuple(name_faults(name))
        table, found = check(ScriptsTable, raw, (name,))
        faults += (*named, *found)
        if table is not None and not named:
            state_dir = None if table.state_dir is None else legacy.expand(table.state_dir, paths.home)
            scripts[name] = SessionScripts(table.turn_script, drop_blank(table.transcript_locator), state_dir)
    return Loaded(scripts, file.problems(faults, in_tables=True))


def parse_prices(path: Path, raw: bytes | None) -> Loaded[Mapping[str, Rate]]:
    """Return the rates of the models that prices.toml names; what is wrong with others comes along as warnings."""
    file = toml_file.read(path, raw)
    if file.failure is not None:
        return Loaded({}, (replace(file.failure, level=Level.WARNING),))
    rates: dict[str, Rate] = {}
    faults: list[Fault] = []
    for model, values in file.data.items():
        table, found = check(PriceTable, values, (model,))
        faults += (replace(fault, level=Level.WARNING) for fault in found)
        if table is not None:
            rates[model] = Rate(table.input, table.output, table.cache_read, table.cache_write, table.cache_write_1h)
    return Loaded(rates, file.problems(faults, in_tables=True))
