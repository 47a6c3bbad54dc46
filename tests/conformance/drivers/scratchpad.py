"""Drivers of agent-scratchpad."""

from datetime import UTC, datetime, timedelta

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.artifacts.scratchpad import TOOL
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, scratchpad_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.facade.artifacts import initialise, open_store

UUID = "550e8400-e29b-41d4-a716-446655440000"


class Then(SystemClock):
    """A clock that went so many days slow."""

    def __init__(self, days):
        self.days = days

    def now(self):
        return super().now() - timedelta(days=self.days)


def drive_name(vector, tmp_path):
    path = tmp_path / "artifacts.db"
    initialise(path, SystemClock())
    arguments = [
        "write",
        "--db",
        str(path),
        "--invocation-uuid",
        UUID,
        "--name",
        vector["input"]["name"],
        "--body",
        "x",
    ]
    assert vector["expected"]["exit"] == tool.main(TOOL, arguments)


def drive_gc(vector, tmp_path):
    path = tmp_path / "artifacts.db"
    initialise(path, SystemClock())
    for days in vector["input"]["ages_days"]:
        with open_store(path, Then(days)) as store:
            store.put(NewVersion(Address(scratchpad_of(UUID), f"{days}")), b"x")
            store.put(NewVersion(Address("run", f"{days}")), b"x")  # of a run: never touched

    assert 0 == tool.main(TOOL, ["gc", "--db", str(path), "--expired-before", datetime.now(UTC).isoformat()])

    with open_store(path, SystemClock()) as store:
        gone = [one.address for one in store.file.versions(with_removed=True) if one.removal is not None]
    assert [Address(scratchpad_of(UUID), f"{days}", 1) for days in vector["expected"]["tombstoned"]] == gone


DRIVERS = {"scratchpad.name": drive_name, "scratchpad.gc": drive_gc}
