"""Which versions of the CLIs were seen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.runs import CliVersionHistoryRow, CliVersionRow


def record(store: Store, versions: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Note versions by CLI; return the version before of each CLI that had another one."""
    row = CliVersionRow
    with store.write():
        before = {str(name): str(version) for name, version in store.rows(row.select(row.cli_name, row.version))}
        for name, version in versions.items():
            told = {row.version: version, row.recorded_at: to_text(now)}
            store.run(
                row.insert({row.cli_name: name, **told}).on_conflict(
                    conflict_target=[row.cli_name], preserve=list(told)
                )
            )
            store.insert(CliVersionHistoryRow, cli_name=name, version=version, recorded_at=to_text(now))
    return {name: before[name] for name, version in versions.items() if before.get(name, version) != version}
