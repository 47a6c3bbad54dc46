"""`[runtimes.x]` of config.toml: each table for itself, so that a slip in one costs no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oulipoly_engine.config.base import legacy
from oulipoly_engine.config.base.problem import Fault, Level, Loaded
from oulipoly_engine.config.schema.faults import check
from oulipoly_engine.config.schema.runtimes import OldRuntimeTable, RuntimeTable
from oulipoly_engine.config.toml import toml_file
from oulipoly_engine.core.live.runtimes import RuntimeEntry, normalise_id
from oulipoly_engine.paths import Paths

_KEY, _OLD = "runtimes", "cli_agent_runtime"
_ID = re.compile(r"[\w.@+-]{1,100}")
_OLD_NAMES = {"Codex": "Codex CLI"}  # as the older form called it, and what it is called now


def parse_runtimes(paths: Paths, raw: bytes | None) -> Loaded[tuple[RuntimeEntry, ...]]:
    """Return every runtime of config.toml, in the file's order; one with an error counts as broken.

    A file that is no TOML has none; that is told with its settings.
    """
    file = toml_file.read(paths.settings, raw)
    tables = file.data.get(_KEY, {})
    faults: list[Fault] = []
    entries: dict[str, RuntimeEntry] = {}
    for name, values in tables.items() if isinstance(tables, dict) else ():
        found = tuple(_name_faults(name, entries))
        faults += found
        if found:
            continue
        table, wrong = check(RuntimeTable, values, (_KEY, name))
        faults += wrong
        identity = normalise_id(name)
        entries[identity] = (
            RuntimeEntry(identity, name, is_broken=True) if table is None else _entry(identity, name, table, paths.home)
        )
    old = tuple(_read_old(file.data, faults))
    for entry in old:
        entries.setdefault(entry.id, entry)
    return Loaded(tuple(entries.values()), file.problems(faults))


def _name_faults(name: str, entries: Mapping[str, RuntimeEntry]) -> Iterator[Fault]:
    identity = normalise_id(name)
    if not _ID.fullmatch(identity):
        message = f"{name[:40]!r} cannot be a runtime's name"
        yield Fault((_KEY, name), message, "use at most 100 letters, digits, - and _")
    elif identity in entries:
        message = f"{name!r} and {entries[identity].key!r} are the same name"
        yield Fault((_KEY, name), message, "rename one of the two")


def _read_old(data: Mapping[str, Any], faults: list[Fault]) -> Iterator[RuntimeEntry]:
    """Read the older form as a codex and a claude; a lone codex of today's form gets no claude by it."""
    values = data.get(_OLD)
    if not isinstance(values, dict):
        return
    table, wrong = check(OldRuntimeTable, values, (_OLD,))
    faults += wrong
    if table is None:
        return
    message = f"`[{_OLD}]` is the older form of [runtimes.codex] and [runtimes.claude]"
    faults.append(Fault((_OLD,), message, "run `agents config migrate`", Level.WARNING))
    from oulipoly_engine.core.live.wires.table import FORMER_NAMES  # noqa: PLC0415 - 5 ms, few files have this table

    for kind, name in FORMER_NAMES.items():
        yield RuntimeEntry(kind, _OLD, kind=kind, name=name, is_enabled=table.enabled)


def _entry(identity: str, key: str, table: RuntimeTable, home: Path) -> RuntimeEntry:
    return RuntimeEntry(
        id=identity,
        key=key,
        kind=table.kind,
        name=_OLD_NAMES.get(table.name or "", table.name or ""),
        is_enabled=table.enabled,
        program=_expand(table.program, home),
        home=_expand(table.home, home),
        shadow_home=_expand(table.shadow_home, home),
        start_words=None if table.start_words is None else tuple(table.start_words),
        args=None if table.args is None else tuple(table.args),
        environment=dict(table.env),
        account=table.account or "",
        custom_models=tuple(table.custom_models),
        startup_s=table.startup_timeout_ms / 1000,
        request_s=table.request_timeout_ms / 1000,
        idle_s=float(table.idle_session_ttl_secs),
        answer_s=float(table.answer_timeout_secs),
        marker=table.marker,
        proxy=table.proxy or "",
        debug_native_events=table.debug_native_events,
        stderr_lines=table.stderr_ring_lines,
    )


def _expand(text: str | None, home: Path) -> str:
    if text is None:
        return ""
    return str(legacy.expand(text, home)) if text == "~" or text.startswith("~/") else text
