"""What killed processes have left goes; what somebody may be at work on, and what is not ours, stays."""

import os

import pytest

from oulipoly_engine.paths import Paths
from oulipoly_engine.service.leavings import remove_leavings

NOW_S = 1_800_000_000.0


@pytest.fixture
def paths(tmp_path):
    return Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path)


def left(path, hours, content=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (NOW_S - 3600 * hours,) * 2)
    return path


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("invocations/.4f.result.812", 2),
        (".configuration-change.json.new-x1y2z3w4", 2),
        ("../config/models/.m.toml.new-x1y2z3w4", 2),
        ("sessions/a/.claude-code-turns-x1y2", 2),
        ("sessions/a/.opencode-turns-x1y2", 2),
        ("terminals/1a2b.log", 2),
        ("locks/session-4f.released", 25),
    ],
)
def test_what_is_left_goes(paths, name, hours):
    path = left(paths.data / name, hours)

    assert (1, False) == (remove_leavings(paths, paths.locks, NOW_S), path.exists())


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("invocations/.4f.result.812", 0.5),
        ("../config/.providers.toml.new-x1y2z3w4", 0.5),
        ("../config/providers.toml", 99),
        ("invocations/4f.result", 99),
        ("invocations/4f.returns", 99),
        ("sessions/a/claude-code-turns.json", 99),
        ("sessions/a/.claude-code-turns-x1y2", 0.5),
        ("terminals/1a2b.log", 0.5),
        ("locks/session-4f.released", 23),
        ("locks/session-4f.lock", 99),
        ("state.db", 99),
    ],
)
def test_the_rest_stays(paths, name, hours):
    path = left(paths.data / name, hours)

    assert (0, True) == (remove_leavings(paths, paths.locks, NOW_S), path.exists())


def test_channel_of_a_run_that_has_ended_goes(paths):
    channel, result = left(paths.results / "4f.returns", 2), left(paths.results / "4f.result", 2)

    assert (1, False, True) == (remove_leavings(paths, paths.locks, NOW_S), channel.exists(), result.exists())


def test_log_with_words_or_with_a_living_host_stays(paths):
    said, listening = left(paths.terminal_logs / "1.log", 99, "why"), left(paths.terminal_logs / "2.log", 99)
    left(paths.runtime / "2.sock", 99)

    assert (0, True, True) == (remove_leavings(paths, paths.locks, NOW_S), said.exists(), listening.exists())
