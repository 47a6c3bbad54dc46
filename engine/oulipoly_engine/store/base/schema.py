"""What makes a state file ours: its application id, its version, and the numbered migrations that lead there."""

from __future__ import annotations

from oulipoly_engine.records import Record

APPLICATION_ID = 0x6F_75_6C_70  # "oulp"; SQLite keeps it at byte 68 of the file
CURRENT_VERSION = 22
MINIMUM_VERSION = 1  # older files are brought forward from here
WAY_OUT = "run `agents state rebuild --yes` to set it aside as a backup and start a fresh one"


class Migration(Record):
    """One step: the version it leads to, and its SQL."""

    version: int
    sql: str


def migrations() -> tuple[Migration, ...]:
    """Return every shipped migration in order; file names are `NNNN_what.sql`."""
    from importlib import resources  # noqa: PLC0415 - 3 ms, only a migration needs it

    folder = resources.files("oulipoly_engine.store").joinpath("migrations")
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(Migration(int(entry.name[:4]), entry.read_text(encoding="utf-8")) for entry in files)
