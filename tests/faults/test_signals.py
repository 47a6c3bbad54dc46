"""A one-shot that is told to stop leaves no child and a final row, whatever its CLI thinks of signals."""

import os
import signal
import time

import pytest

from oulipoly_engine.process.liveness import is_alive


@pytest.fixture
def start(world, commands):
    def start(*arguments, **variables):
        return commands.start(arguments, dict(os.environ) | variables, world.home)

    return start


def wait_for(path, within_s=60.0, lines=1):
    deadline = time.monotonic() + within_s
    while not (path.exists() and len(path.read_text().splitlines()) >= lines):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [int(word) for word in path.read_text().split()]


MANNERS = {
    "dies": "",
    "exit0": "trap 'exit 0' INT; ",
    "deaf": "trap '' INT TERM HUP; ",
    "closed": "exec >&- 2>&-; ",
}
# Every signal, and every manner of a CLI; one function answers all signals, and a deaf CLI takes six seconds.
CASES = [("dies", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)]
CASES += [("exit0", signal.SIGINT), ("deaf", signal.SIGTERM), ("closed", signal.SIGINT), ("closed", signal.SIGTERM)]


@pytest.mark.parametrize(
    ("manners", "number"),
    [pytest.param(MANNERS[name], number, id=f"{name}-{number.name[3:]}") for name, number in CASES],
)
def test_a_stopped_one_shot_is_a_failure_and_leaves_nothing(world, start, markers, tmp_path, number, manners):
    pids = tmp_path / "pids"
    world.account("a", f"{manners}sleep 60 & echo $! $$ > {pids}; wait; sleep 60")
    world.model("m", "a")
    ours = start("-m", "m", "x")
    children = wait_for(pids)

    ours.send_signal(number)
    stdout, stderr = ours.communicate(timeout=60)

    result = markers("OULIPOLY_RESULT", stdout)[0]
    row = world.rows("SELECT * FROM invocations")[0]
    assert 128 + number == ours.returncode
    assert ("failed", False) == (row["status"], result["success"]), stderr
    assert f"interrupted: signal {int(number)}" == row["terminal_reason"]
    assert not any(is_alive(pid) for pid in children)


def test_an_interrupted_run_keeps_the_session_that_its_cli_has_named(world, start, markers, tmp_path):
    pids = tmp_path / "pids"
    world.account(
        "a",
        f'echo "{{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"t-1\\"}}"; echo $$ > {pids}; sleep 60',
        "[a.session_capture]\nkind = 'stdout_json_event'\njson_flag = '--json'\nlast_message_flag = '-o'\n"
        "event_type = 'thread.started'\nevent_id_path = 'thread_id'",
    )
    world.model("m", "a")
    ours = start("-m", "m", "x")
    wait_for(pids)

    ours.send_signal(signal.SIGTERM)
    stdout, _stderr = ours.communicate(timeout=60)

    result = markers("OULIPOLY_RESULT", stdout)[0]
    assert "t-1" == result["provider_session_id"]
    assert result["agent_runner_chain_id"] is not None


def test_an_interruption_does_not_move_on_to_the_next_account(world, start, tmp_path):
    pids = tmp_path / "pids"
    world.account("a", f"trap 'echo usage limit >&2; exit 1' INT; echo $$ > {pids}; sleep 60 & wait; sleep 60")
    world.account("b", "cat")
    world.model("m", "a", "b")
    ours = start("-m", "m", "x")
    wait_for(pids)

    ours.send_signal(signal.SIGINT)
    ours.communicate(timeout=60)

    assert 130 == ours.returncode
    assert ["a"] == [row["provider_name"] for row in world.rows("SELECT * FROM invocations")]


def test_a_signal_while_the_diagnostics_model_is_asked_ends_the_run_with_a_final_row(world, start, tmp_path):
    pids = tmp_path / "pids"
    world.account("a", "echo strange >&2; exit 4")
    world.account("d", f"echo $$ > {pids}; sleep 60")
    world.model("m", "a")
    world.model("judge", "d")
    (world.config / "config.toml").write_text("diagnostics_model = 'judge'\n")
    ours = start("-m", "m", "x")
    child = wait_for(pids)[0]

    ours.send_signal(signal.SIGTERM)
    ours.communicate(timeout=60)

    assert 143 == ours.returncode
    assert [("failed", 4)] == [(row["status"], row["exit_code"]) for row in world.rows("SELECT * FROM invocations")]
    assert not is_alive(child)


def test_a_prompt_file_is_taken_away_when_the_run_is_stopped(world, start, tmp_path):
    pids = tmp_path / "pids"
    world.account("a", f"echo $$ > {pids}; sleep 60", "prompt_mode = 'arg'")
    world.model("m", "a")
    (tmp_path / "p").write_text("x" * 200_000)
    project = tmp_path / "project"
    project.mkdir()
    ours = start("-m", "m", "-f", str(tmp_path / "p"), "-p", str(project))
    wait_for(pids)
    assert list(project.iterdir())

    ours.send_signal(signal.SIGTERM)
    ours.communicate(timeout=60)

    assert [] == list(project.iterdir())


def test_many_runs_at_once_lose_no_row_and_no_count(world, start):
    world.account("a", "cat")
    world.account("b", "cat")
    world.model("m", "a", "b")

    running = [start("-m", "m", "x") for _ in range(12)]
    for ours in running:
        ours.communicate(timeout=60)

    assert [0] * 12 == [ours.returncode for ours in running]
    assert [{"status": "succeeded", "n": 12}] == world.rows(
        "SELECT status, COUNT(*) n FROM invocations GROUP BY status"
    )
    assert 12 == world.rows("SELECT SUM(invocation_count) n FROM account_counters")[0]["n"]
    assert 12 == world.rows("SELECT SUM(calls_since_refresh) n FROM account_quotas")[0]["n"]


@pytest.mark.parametrize("arguments", [("--usage",), ("quota-check",), ("session-scan",), ("why", "m", "--refresh")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_stopped_command_leaves_no_script_behind(world, start, tmp_path, number, arguments):
    pids = tmp_path / "pids"
    script = f"echo $$ > {pids}; sleep 60"
    world.account("a", "cat", f"quota_script = '{script}'")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = '{script}'\n")
    ours = start(*arguments)
    child = wait_for(pids)[0]

    ours.send_signal(number)
    stdout, stderr = ours.communicate(timeout=60)

    assert 128 + number == ours.returncode
    assert (b"", False) == (stdout, b"Traceback" in stderr)
    assert not is_alive(child)


QUESTIONS = {"setup detect": 4, "doctor": 4, "account show claude": 2}  # and how many CLIs are started for it


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words.replace(" ", "-"))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_question_to_clis_that_hang_ends_at_once_and_leaves_nothing(world, start, tmp_path, number, words):
    folder, pids = tmp_path / "programs", tmp_path / "pids"
    folder.mkdir()
    for name, login in (("claude", ".credentials.json"), ("codex", "auth.json")):
        (folder / name).write_text(f"#!/bin/sh\necho $$ >> {pids}\nexec sleep 60\n")
        (folder / name).chmod(0o755)
        (world.home / f".{name}").mkdir()
        (world.home / f".{name}" / login).write_text("{}")
    (world.config / "providers.toml").write_text('[claude]\ncommand = "claude"\n[codex]\ncommand = "codex"\n')
    ours = start(*words.split(), PATH=f"{folder}:{os.environ['PATH']}")
    children = wait_for(pids, lines=QUESTIONS[words])

    begun = time.monotonic()
    ours.send_signal(number)
    _stdout, stderr = ours.communicate(timeout=60)

    assert (128 + number, b"") == (ours.returncode, stderr)
    assert time.monotonic() - begun < 3  # the CLIs would be asked for 4 s and more
    assert not any(is_alive(pid) for pid in children)
