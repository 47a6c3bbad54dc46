"""Drivers of agent-store: the real program on a store of its own."""

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.artifacts.store import TOOL
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.facade.artifacts import initialise, open_store

KEY = ("--workflow-run-id", "run", "--artifact-name", "name")


def run(tmp_path, verb, *arguments):
    return tool.main(TOOL, [verb, "--db", str(tmp_path / "artifacts.db"), *arguments])


def put(tmp_path, text):
    (tmp_path / "content").write_text(text)
    return run(tmp_path, "put", *KEY, "--content-file", str(tmp_path / "content"))


def drive_put(vector, tmp_path):
    assert 0 == run(tmp_path, "init")
    assert 0 == put(tmp_path, "one") == put(tmp_path, "two")
    out = tmp_path / "out"
    for version, text in zip(vector["expected"]["versions"], ("one", "two"), strict=True):
        assert 0 == run(tmp_path, "get", *KEY, "--version", str(version), "--out", str(out))
        assert text == out.read_text()


def drive_tombstone(vector, tmp_path):
    initialise(tmp_path / "artifacts.db", SystemClock())
    with open_store(tmp_path / "artifacts.db", SystemClock()) as store:
        address = store.put(NewVersion(Address("run", "name")), b"one").address
        first, done = store.remove(address, "me", "old")
        second, again = store.remove(address, "you", "older")
    said = ["tombstoned" if one else "already_tombstoned" for one in (done, again)]
    assert vector["expected"]["status"] == said
    assert vector["expected"]["second_keeps_original_actor_reason_time"] is (first.removal == second.removal)


def drive_exit(vector, tmp_path):
    assert vector["expected"]["exit"] == run(tmp_path, "list")


DRIVERS = {"store.put": drive_put, "store.tombstone": drive_tombstone, "store.exit": drive_exit}
