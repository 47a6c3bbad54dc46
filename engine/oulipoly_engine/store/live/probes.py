"""How runtimes stood when they were last asked; one row a runtime."""

from __future__ import annotations

from datetime import datetime

import msgspec

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.runtime_status import Probe
from oulipoly_engine.records import Record, prepare, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.live import RuntimeProbeRow


class KeptProbe(Record):
    """What a probe showed, and of what."""

    probe: Probe
    program: str  # the path that was started
    at: str = ""  # RFC 3339


def save(store: Store, runtime: str, kept: KeptProbe, now: datetime) -> None:
    """Keep what a probe has shown in place of the one before."""
    row = RuntimeProbeRow
    told = {row.probed_at: to_text(now), row.summary: msgspec.json.encode(kept).decode()}
    with store.write():
        store.run(
            row.insert({row.runtime_id: runtime, **told}).on_conflict(
                conflict_target=[row.runtime_id], preserve=list(told)
            )
        )


def read_all(store: Store) -> dict[str, KeptProbe]:
    """Return what is kept, by runtime; what another version has written in a way of its own is not."""
    row = RuntimeProbeRow
    with store.read():
        rows = store.rows(row.select(row.runtime_id, row.probed_at, row.summary))
    found: dict[str, KeptProbe] = {}
    for runtime, at, text in rows:
        try:
            kept = msgspec.json.decode(text, type=prepare(KeptProbe))
        except (msgspec.MsgspecError, ValueError):
            continue
        found[runtime] = replace(kept, at=at)
    return found
