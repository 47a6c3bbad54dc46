"""What is asked and ordered about telemetry: what it holds, and to forget it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.records import Record

# ruff: noqa: PLC0415 - hardly anybody asks


class Kept(Record):
    """All that telemetry holds."""

    is_on: bool
    files: tuple[Path, ...]  # that there are
    events: tuple[dict[str, Any], ...]  # oldest first


class TelemetryRecords(Part):
    """The telemetry of one user."""

    def read(self) -> Kept:
        """Return what is kept, with what still waits for that."""
        from oulipoly_engine.service.telemetry.recorder import Telemetry

        is_on = self._home.files.settings().telemetry
        if not self._home.paths.state_db.exists():
            return Kept(is_on, (), ())
        with self._home.lend_store_to_read() as store:
            self._home.settle_telemetry(store, is_on=is_on)
            telemetry = Telemetry(store)
            if is_on and not self._home.read_only:
                telemetry.flush(self._home.now(), is_all=True)
            files = (file for file in (telemetry.older_file, telemetry.file) if file.exists())
            return Kept(is_on, tuple(files), tuple(telemetry.read()))

    def clear(self) -> int:
        """Forget all of it, and return how many events that were."""
        from oulipoly_engine.service.telemetry.recorder import Telemetry

        self._home.refuse_if_read_only("remove telemetry")
        if not self._home.paths.state_db.exists():
            return 0
        with self._home.lend_store() as store:
            return Telemetry(store).clear()
