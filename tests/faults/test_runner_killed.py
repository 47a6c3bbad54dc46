"""A runner that is killed: its row is closed at the next look, and a CLI that runs on is told, ended or waited for."""

import json
import os
import signal
import sys
import time

import pytest

from oulipoly_engine.process.liveness import here, is_alive

MESSENGER = "from oulipoly_engine.cli.artifacts.messenger import main; raise SystemExit(main())"


@pytest.fixture
def killed(world, tmp_path, commands):
    """Return a function that starts a one-shot over a script, kills its runner, and returns the CLI's process id."""

    def kill(script):
        world.account("a", f"echo $$ > {tmp_path}/pid; {script}")
        world.account("b", "cat")
        world.model("m", "a")
        world.model("n", "b")
        ours = commands.start(["-m", "m", "x"], cwd=world.home)
        until((tmp_path / "pid").exists)
        until(lambda: row(world)["child_pid"] is not None)
        ours.kill()
        ours.wait()
        return row(world)["child_pid"]

    return kill


def row(world):
    return world.rows("SELECT * FROM invocations ORDER BY id LIMIT 1")[0]


def until(condition, within_s=60.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("look", ["terminals", "why n", "session list", "account list", "-m n x"])
def test_anything_that_looks_closes_the_run(world, killed, look):
    os.killpg(killed("exec sleep 300"), signal.SIGKILL)

    done = world.run(*look.split())

    lost = row(world)
    assert 0 == done.returncode
    assert ("failed", -1, "guard_drop") == (lost["status"], lost["exit_code"], lost["terminal_reason"])
    assert (world.data / "invocations" / f"{lost['invocation_uuid']}.result").exists()


@pytest.mark.skipif(here() is None, reason="this system tells no boot and no namespace")
@pytest.mark.parametrize(
    ("place", "after_a_look", "after_a_start"),
    [
        pytest.param("{boot} pid:[1]", "running", "failed", id="another container"),
        pytest.param("another-boot pid:[1]", "failed", "failed", id="before a boot"),
    ],
)
def test_run_that_cannot_be_seen_is_closed_by_a_start_alone(world, killed, place, after_a_look, after_a_start):
    os.killpg(killed("exec sleep 300"), signal.SIGKILL)
    assert here() == row(world)["owner_place"]
    world.change("UPDATE invocations SET owner_place = ?", place.format(boot=here().split()[0]))

    world.run("session", "list")
    looked = row(world)["status"]
    world.run("-m", "n", "x")

    assert (after_a_look, after_a_start) == (looked, row(world)["status"])


def test_cli_that_runs_on_is_told_and_ended(world, killed):
    pid = killed("trap '' INT; sleep 300 & wait; wait; wait")
    uuid = row(world)["invocation_uuid"]
    word = f"process {pid}".encode()

    next_run, listed, traced = world.run("-m", "n", "x"), world.run("terminals"), world.run("trace", uuid)

    assert [True] * 3 == [word in done.stderr + done.stdout for done in (next_run, listed, traced)]
    assert "running" == row(world)["status"]
    ended = world.run("kill", uuid[:8])
    assert (0, True) == (ended.returncode, not is_alive(pid)), ended.stderr
    assert ("failed", "guard_drop") == (row(world)["status"], row(world)["terminal_reason"])
    assert b"process" not in world.run("terminals").stderr


def test_cli_that_runs_on_can_be_waited_for(world, killed, tmp_path, commands):
    killed(f"while [ ! -e {tmp_path}/go ]; do sleep 0.1; done")
    uuid = row(world)["invocation_uuid"]
    waiting = commands.start(["wait", uuid[:6]], cwd=world.home)
    until(lambda: b"running" in world.run("trace", uuid).stdout)
    assert waiting.poll() is None

    (tmp_path / "go").touch()
    out, _ = waiting.communicate(timeout=60)

    result = json.loads(out.partition(b"=")[2])
    assert (1, uuid, "failed", "guard_drop") == (
        waiting.returncode,
        result["id"],
        result["status"],
        result["terminal_reason"],
    )


def test_run_that_ended_is_not_waited_for(world):
    world.account("a", "exit 7")
    world.model("m", "a")
    done = world.run("-m", "m", "x")
    uuid = row(world)["invocation_uuid"]

    waited = world.run("wait", uuid)

    assert (7, done.stdout) == (waited.returncode, waited.stdout)
    assert 1 == world.run("wait", "0000").returncode


def test_snapshot_of_the_app_tells_what_runs_on(world, killed):
    pid = killed("exec sleep 300")

    status = world.run("status", "--format", "{problems}")

    assert b"1" == status.stdout.strip(), status
    os.killpg(pid, signal.SIGKILL)


def test_program_that_has_the_number_after_a_boot_is_none_of_ours(world, killed):
    pid = killed("exec sleep 300")
    world.change("UPDATE invocations SET owner_place = 'another-boot pid:[1]'")

    listed = world.run("terminals")

    assert (b"", "guard_drop", False) == (listed.stderr, row(world)["terminal_reason"], not is_alive(pid))
    os.killpg(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        pytest.param(f"{sys.executable} -c '{MESSENGER}' return --name n --body x", ["n"], id="whole receipt"),
        pytest.param("printf '{\"schema_version\":1,' >>$OULIPOLY_RETURN_CHANNEL", [], id="half a receipt"),
    ],
)
def test_what_a_cli_returns_without_its_runner_is_kept_whole_or_not_at_all(world, killed, tmp_path, script, kept):
    os.mkfifo(tmp_path / "gate")
    pid = killed(f"read go <{tmp_path}/gate; {script}")
    left = [path.stem for path in (world.data / "invocations").glob("*.returns")]
    (tmp_path / "gate").write_text("go\n")
    until(lambda: not is_alive(pid))

    world.run("session", "list")

    lost = row(world)
    assert [lost["invocation_uuid"]] == left
    assert ("failed", "guard_drop") == (lost["status"], lost["terminal_reason"])
    assert kept == [one["name"] for one in world.rows("SELECT name FROM invocation_returned_artifacts")]
    assert [] == [*(world.data / "invocations").glob("*.returns")]
