"""Devices and links among what a person has allowed, by the command."""

import json

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.errors import ReadOnly
from oulipoly_engine.facade.engine import Engine, Surroundings


@pytest.fixture
def command(capfd):
    """Run a command of the grants. Returns (exit code, stdout, stderr)."""

    def run(*words):
        code = main(["grants", *words])
        return code, *capfd.readouterr()

    return run


def test_devices_and_links_are_listed_and_revoked(browse, engine, command):
    assert (0, "") == command("list")[:2]
    client = browse("view", "operate")
    engine.web.make_link("for Ann")
    listed = json.loads(command("list", "--json")[1])
    device, link = sorted(listed["grants"], key=lambda grant: grant["kind"])
    table = command("list")[1]

    assert 1 == listed["schema_version"]
    assert [("device", "a test", "view, operate"), ("link", "for Ann", "view")] == [
        (grant["kind"], grant["subject"], grant["right"]) for grant in (device, link)
    ]
    assert [None, None] == [grant["revoked_at"] for grant in (device, link)]
    assert all(words in table for words in (device["id"], "for Ann", "it has to be paired anew"))
    code, out, _ = command("revoke", device["id"], "--json")
    assert (0, device["id"], True) == (code, (revoked := json.loads(out))["id"], bool(revoked["revoked_at"]))
    assert 401 == client.get("/me").status_code
    assert (0, True) == ((told := command("revoke", link["id"][:6]))[0], "for Ann" in told[1])
    assert (1, True) == ((again := command("revoke", device["id"]))[0], "nothing is allowed under" in again[2])
    assert () == engine.web.devices()


def test_nothing_is_revoked_in_read_only_mode(engine):
    link = engine.web.make_link("for Ann").device
    reader = Engine(Surroundings(read_only=True))
    try:
        with pytest.raises(ReadOnly):
            reader.grants.revoke(link.device_id)
        assert [link.device_id] == [grant.grant_id for grant in reader.grants.list()]
    finally:
        reader.close()
