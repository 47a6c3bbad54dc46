"""A run that is stopped is a failed run with a final record, and nothing of it goes on living."""

import contextlib
import signal
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
PATIENCE_S = 30
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens


@BOTH
@SIGNALS
@pytest.mark.parametrize("style", ["text", "json", "capture"])
def test_signal_during_a_slow_answer_ends_in_failure(world, api, plan, cli, number, style):
    world.configure(api.url, **{cli: style})
    api.plans[f"{cli}-one"] = plan(holds_back=True)
    process = world.start("-m", cli, "hello")
    api.wait_for_call(f"{cli}-one")
    living = alive(world)

    ran = world.signal(process, number)

    assert len(living) >= 2
    assert alive(world) == []
    assert 128 + number == ran.exit_code
    assert ("failed", f"interrupted: signal {int(number)}") == (ran.result["status"], ran.result["terminal_reason"])
    assert "failed" == world.trace(ran)["invocation"]["status"]


@BOTH
@SIGNALS
def test_command_that_the_cli_runs_ends_with_it(world, api, plan, cli, number):
    world.configure(api.url, claude="tools", codex="tools")
    api.plans[f"{cli}-one"] = plan(tool_command="sleep 987")
    process = world.start("-m", cli, "hello")
    wait_for("sleep 987 ", world)

    ran = world.signal(process, number)

    assert alive(world) == []
    assert 128 + number == ran.exit_code


def test_codex_that_waits_for_an_unreachable_network_is_stopped_at_our_limit(world):
    world.configure(NOWHERE)

    ran = world.run("-m", "codex-one", "--timeout", "4", "hello")

    assert 124 == ran.exit_code
    assert ("failed", "timeout") == (ran.result["status"], ran.result["terminal_reason"])
    assert alive(world) == []


def test_claude_that_reaches_nobody_fails_by_itself(world):
    world.configure(NOWHERE)

    ran = world.run("-m", "claude-one", "hello")

    assert 1 == ran.exit_code
    assert "network_error" == ran.result["error_category"]


def wait_for(command, world):
    deadline = time.monotonic() + PATIENCE_S
    while command not in alive(world):
        assert time.monotonic() < deadline, f"{command} never ran"
        time.sleep(0.05)


def alive(world):
    """List the commands of the processes that live in the world's home."""
    mark = f"HOME={world.home}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
