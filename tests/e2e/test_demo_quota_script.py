"""The demo's quota script as a real process: the contract's JSON, and the hands that turn a window."""

import json
import os
import subprocess

import pytest

from oulipoly_demo import world

NOW = "2026-11-21T05:00:00Z"


@pytest.fixture
def script(tmp_path):
    demo = world.build(tmp_path / "w", options=world.Options(seeded=False))

    def run(*arguments, account="demo-codex1"):
        return subprocess.run(
            [demo.bin / "demo-quota", demo.account_home(account), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=world.environment_for(demo, os.environ) | {"DEMO_NOW": NOW},
            timeout=60,
            check=False,
        )

    return run


def windows(done):
    return json.loads(done.stdout)["windows"]


def test_windows_are_printed_as_the_contract_asks(script):
    done = script()

    assert (0, b"") == (done.returncode, done.stderr)
    assert ["weekly", "5h"] == [window["label"] for window in windows(done)]
    assert [{"used_percent", "resets_at", "label"}] * 2 == [set(window) for window in windows(done)]


def test_set_spends_a_window_for_the_next_reader(script):
    script("--set", "97.5")
    script("--set", "40", "--kind", "long")

    assert [40.0, 97.5] == [window["used_percent"] for window in windows(script())]


def test_short_windows_reset_within_minutes_and_real_ones_come_back(script):
    short = windows(script("--set", "50", "--windows", "short"))
    real = windows(script("--windows", "real"))

    assert ["1h", "5min"] == [window["label"] for window in short]
    assert ("2026-11-21T05:05:00.000Z", 50.0) == (short[1]["resets_at"], short[1]["used_percent"])
    assert ("2026-11-21T10:00:00.000Z", "5h") == (real[1]["resets_at"], real[1]["label"])


@pytest.mark.parametrize(
    "wrong", [["--set", "101"], ["--set", "much"], ["--kind", "odd"], ["--nope"], ["two", "homes"]]
)
def test_wrong_usage_is_told_and_changes_nothing(script, wrong):
    done = script(*wrong)

    assert (2, b"") == (done.returncode, done.stdout)
    assert done.stderr.startswith(b"usage: demo-quota HOME")
    assert 0.0 == windows(script())[1]["used_percent"]


def test_missing_home_is_named(tmp_path):
    demo = world.build(tmp_path / "w")

    done = subprocess.run([demo.bin / "demo-quota", tmp_path / "nobody"], capture_output=True, check=False)

    assert 2 == done.returncode
    assert f"no demo account lives in {tmp_path}/nobody".encode() in done.stderr
