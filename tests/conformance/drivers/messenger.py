"""Drivers of agent-messenger."""

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.artifacts.messenger import TOOL
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, parse_returned, returns_of
from oulipoly_engine.facade.artifacts import initialise

UUID = "550e8400-e29b-41d4-a716-446655440000"


def run(tmp_path, verb, *arguments):
    path = tmp_path / "artifacts.db"
    initialise(path, SystemClock())
    return tool.main(TOOL, [verb, "--db", str(path), "--invocation-uuid", UUID, *arguments])


def drive_name(vector, tmp_path):
    channel = tmp_path / "channel"
    channel.write_text("")
    arguments = ("--name", vector["input"]["name"], "--body", "x", "--return-channel", str(channel))

    assert vector["expected"]["exit"] == run(tmp_path, "return", *arguments)
    assert channel.read_text() == ""


def drive_version_id(vector, tmp_path):
    given, expected = vector["input"], vector["expected"]
    if "version_id" in given:
        assert expected["exit"] == run(tmp_path, "show", "--version-id", given["version_id"])
        return
    address = Address(returns_of(given["invocation"]), given["name"], given["version"])
    assert expected == address.text
    assert address == parse_returned(expected)


DRIVERS = {"messenger.name": drive_name, "messenger.version_id": drive_version_id}
