"""`telemetry show` and `clear`: what was used is counted only where that is wanted, and all of it is shown."""

import json

import pytest


@pytest.fixture
def used(agents, world):
    """Run a one-shot; returns what telemetry holds then."""
    world.account("ada", "cat")
    world.model("m", "ada")

    def use(*, env=None):
        assert 0 == agents("-m", "m", "a private message", env=env).returncode
        return json.loads(agents("telemetry", "show", "--json", env=env).stdout)

    return use


def test_nothing_is_counted_unless_that_is_switched_on(used, home):
    assert {"enabled": False, "files": [], "events": []} == used()
    assert [] == list(home.rglob("telemetry*"))


def test_a_run_is_counted_until_that_is_switched_off_or_forgotten(used, agents, home):
    agents("config", "set", "telemetry", "true")
    kept = used()

    topics = ["session_started", "message_sent", "message_received", "session_ended"]
    assert (True, topics) == (kept["enabled"], [event["event"] for event in kept["events"]])
    assert "private" not in json.dumps(kept)
    lines = agents("telemetry", "show").stdout.decode().splitlines()
    assert topics == [line.split()[1] for line in lines]

    agents("config", "set", "telemetry", "false")
    assert 4 == len(used()["events"])

    assert 2 == agents("telemetry", "clear").returncode
    assert 0 == agents("telemetry", "clear", "--yes").returncode
    assert [] == used()["events"]


def test_a_variable_switches_it_on(used):
    assert 4 == len(used(env={"OXI_TELEMETRY": "1"})["events"])


def test_a_setting_that_changes_is_counted(used, agents):
    agents("config", "set", "telemetry", "true")
    used()
    agents("config", "set", "tie_rule", "lowest-use")
    agents("account", "undo", "--yes")
    agents("config", "edit", "config", env={"EDITOR": "sh -c 'echo thinking_level = \\\"none\\\" >> $1' -"})
    kept = json.loads(agents("telemetry", "show", "--json").stdout)

    assert [1, 1, 1] == [event["settings"] for event in kept["events"] if event["event"] == "settings_changed"]
