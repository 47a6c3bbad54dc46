"""Whether a file system has room left, for the doctor and for whoever tells alerts. Pure."""

from __future__ import annotations

from oulipoly_engine.core.checks.alerts import Alert, Severity
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.records import Record

# Bytes. A one-shot keeps 64 KB and a transcript grows by megabytes; SQLite needs room for a copy of what it changes.
_SCARCE = 100 << 20
_LOW = 1 << 30
_LOW_SHARE = 0.1  # a small file system that is half empty is not nearly full


class SeenDisk(Record):
    """A file system that we, or a CLI, write to."""

    path: str
    free_bytes: int
    size_bytes: int  # 0: the file system does not say, and then what is free says nothing either

    @property
    def text(self) -> str:
        """Return how much room is left: `1.2 GB are free at /home, 3 % of 40.0 GB`."""
        share = percent(self.free_bytes / max(1, self.size_bytes))
        return f"{size_text(self.free_bytes)} are free at {self.path}, {share} of {size_text(self.size_bytes)}"


def of_disk(disk: SeenDisk) -> Alert | None:
    """Return that a disk is nearly full; None: it is not."""
    if disk.size_bytes == 0:
        return None
    if disk.free_bytes < _SCARCE:
        return _alert(disk, Severity.ERROR, "runs cannot be recorded, and CLIs lose what they write")
    if disk.free_bytes < min(_LOW, disk.size_bytes * _LOW_SHARE):
        return _alert(disk, Severity.WARNING, "transcripts and their copies may fill it")
    return None


def _alert(disk: SeenDisk, severity: Severity, follows: str) -> Alert:
    return Alert("disk", f"only {disk.text}", follows, "free some space", disk.path, severity.value, severity)
