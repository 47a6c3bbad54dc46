"""The Claude-like demo CLI as a real process: streams, exit codes, transcripts, resume, quota."""

import json
import os
import signal
import subprocess
import time
from datetime import datetime

import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options

SESSION = "7e57ab1e-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return world.build(tmp_path_factory.mktemp("demo") / "w", options=Options(pace_s=0, cost_percent=0, seeded=False))


@pytest.fixture
def demo(tmp_path):
    return world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))


def run(demo, *arguments, account="demo-claude1", stdin=b"", **env):
    return subprocess.run(
        [demo.bin / account, *arguments],
        input=stdin,
        capture_output=True,
        cwd=demo.project,
        env=world.environment_for(demo, os.environ) | env,
        timeout=60,
        check=False,
    )


def transcript(demo, session_id=SESSION, account="demo-claude1"):
    (path,) = demo.account_home(account).glob(f"projects/*/{session_id}.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_prompt_as_argument_and_on_stdin_is_one_prompt(shared):
    done = run(shared, "-p", "about this:", stdin=b"a turtle\n")

    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout.startswith(b"You said: about this: a turtle\n")
    assert done.stdout.endswith(b"\n")


def test_json_is_one_object_with_the_session_id(shared):
    done = run(shared, "-p", "hello", "--output-format", "json")

    result = json.loads(done.stdout)
    assert ("result", "success", False) == (result["type"], result["subtype"], result["is_error"])
    assert result["result"] == transcript(shared, result["session_id"])[1]["message"]["content"][0]["text"]


def test_stream_json_begins_with_init_and_ends_with_the_result(demo):
    done = run(demo, "-p", "--verbose", "--output-format", "stream-json", "--session-id", SESSION, stdin=b"hello")

    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["system", "assistant", "rate_limit_event", "result"] == [event["type"] for event in events]
    assert {SESSION} == {event["session_id"] for event in events}
    assert events[1]["message"]["id"] == transcript(demo)[1]["message"]["id"]


def test_stream_json_needs_verbose(shared):
    done = run(shared, "-p", "x", "--output-format", "stream-json")

    assert (1, b"") == (done.returncode, done.stdout)
    assert b"requires --verbose" in done.stderr


def test_transcript_has_the_native_shape(demo):
    run(demo, "-p", "hello", "--session-id", SESSION, "--model", "opus")

    user, assistant, last = transcript(demo)
    shared_keys = {
        "uuid",
        "parentUuid",
        "sessionId",
        "timestamp",
        "cwd",
        "version",
        "isSidechain",
        "userType",
        "gitBranch",
    }
    assert shared_keys <= user.keys() & assistant.keys()
    assert ("user", "hello", None) == (user["type"], user["message"]["content"], user["parentUuid"])
    assert user["uuid"] == assistant["parentUuid"]
    assert "demo-opus-1" == assistant["message"]["model"]
    assert {"input_tokens", "output_tokens"} <= assistant["message"]["usage"].keys()
    assert ("last-prompt", assistant["uuid"]) == (last["type"], last["leafUuid"])
    assert str(demo.project) == user["cwd"]
    assert datetime.fromisoformat(user["timestamp"]) <= datetime.fromisoformat(assistant["timestamp"])


def test_resume_goes_on_in_the_same_file_with_the_chain_intact(demo):
    run(demo, "-p", "the word is turtle", "--session-id", SESSION)

    done = run(demo, "-p", "what did I say so far?", "--resume", SESSION)

    records = [record for record in transcript(demo) if "uuid" in record]
    assert b"1. the word is turtle" in done.stdout
    assert ["user", "assistant", "user", "assistant"] == [record["type"] for record in records]
    assert [None, *(record["uuid"] for record in records[:-1])] == [record["parentUuid"] for record in records]


def test_unknown_session_is_refused_in_claudes_words(shared):
    done = run(shared, "-p", "x", "--resume", SESSION)

    assert (1, b"") == (done.returncode, done.stdout)
    assert f"No conversation found with session ID: {SESSION}\n".encode() == done.stderr


def test_session_of_another_directory_is_not_found(demo):
    run(demo, "-p", "x", "--session-id", SESSION)

    done = subprocess.run(
        [demo.bin / "demo-claude1", "-p", "x", "--resume", SESSION],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=demo.home,
        check=False,
    )

    assert 1 == done.returncode


def test_session_copied_to_another_account_resumes_there(demo):
    run(demo, "-p", "the word is turtle", "--session-id", SESSION)
    (source,) = demo.account_home("demo-claude1").glob("projects/*/*.jsonl")
    target = demo.account_home("demo-claude2") / source.relative_to(demo.account_home("demo-claude1"))
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes())

    done = run(demo, "-p", "what did I say so far?", "--resume", SESSION, account="demo-claude2")

    assert b"turtle" in done.stdout


def test_session_id_in_use_is_refused(demo):
    run(demo, "-p", "x", "--session-id", SESSION)

    done = run(demo, "-p", "x", "--session-id", SESSION)

    assert (1, f"Error: Session ID {SESSION} is already in use.\n".encode()) == (done.returncode, done.stderr)


def test_fork_copies_the_turns_under_a_new_id(demo):
    run(demo, "-p", "the word is turtle", "--session-id", SESSION)

    done = run(demo, "-p", "so far?", "--resume", SESSION, "--fork-session", "--output-format", "json")

    fork_id = json.loads(done.stdout)["session_id"]
    fork = transcript(demo, fork_id)
    assert fork_id != SESSION
    assert [record.get("uuid") for record in transcript(demo)] == [record.get("uuid") for record in fork[:3]]
    assert {fork_id} == {record["sessionId"] for record in fork}


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("429", "API Error: Server is temporarily limiting requests (not your usage limit)"),
        ("401", "Failed to authenticate. API Error: 401 OAuth token has expired."),
        ("quota", "You've hit your session limit · resets "),
    ],
)
def test_failure_is_printed_on_stdout_with_exit_1(shared, directive, text):
    done = run(shared, "-p", f"x [[{directive}]]")

    assert (1, b"") == (done.returncode, done.stderr)
    assert done.stdout.startswith(text.encode())


def test_failure_is_an_answer_by_nobody_in_the_transcript(demo):
    run(demo, "-p", "x [[quota]]", "--session-id", SESSION)

    record = transcript(demo)[1]
    assert ("<synthetic>", True, "rate_limit") == (
        record["message"]["model"],
        record["isApiErrorMessage"],
        record["error"],
    )


def test_failure_bound_to_another_account_does_not_happen(shared):
    assert 0 == run(shared, "-p", "x [[quota@demo-claude2]]").returncode
    assert 1 == run(shared, "-p", "x [[quota@demo-claude2]]", account="demo-claude2").returncode


@pytest.mark.parametrize(
    ("directive", "stdout"),
    [("[[noeol]] 1 + 1", b"1 + 1 = 2"), ("[[bytes:300]]", (bytes(range(256)) * 2)[:300]), ("1 + 1", b"1 + 1 = 2\n")],
    ids=["no newline", "binary", "newline"],
)
def test_stdout_is_exactly_the_answer(shared, directive, stdout):
    assert stdout == run(shared, "-p", directive).stdout


def test_big_answer_comes_whole(shared):
    assert 5_000_001 == len(run(shared, "-p", "[[big:5000000]]").stdout)


def test_exit_code_and_stderr_are_what_the_prompt_asks_for(shared):
    done = run(shared, "-p", "x [[exit:7]] [[stderr:oh no]]")

    assert (7, b"oh no\n") == (done.returncode, done.stderr)


def test_reader_who_leaves_early_ends_it_quietly(shared):
    command = f"'{shared.bin}/demo-claude1' -p '[[big:3000000]]' </dev/null | head -c 10"

    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=shared.project, check=False)

    assert (10, b"") == (len(done.stdout), done.stderr)


def test_empty_prompt_and_unknown_option_are_refused(shared):
    assert b"Input must be provided" in run(shared, "-p").stderr
    assert b"error: unknown option '--nope'" in run(shared, "-p", "--nope", "x").stderr


def test_quota_falls_until_the_account_refuses_and_is_back_after_its_reset(demo):
    early, later = {"DEMO_NOW": "2026-11-21T05:00:00Z"}, {"DEMO_NOW": "2026-11-21T10:00:00Z"}
    script = [demo.bin / "demo-quota", demo.account_home("demo-claude1")]
    env = world.environment_for(demo, os.environ) | early
    run(demo, "-p", "--model", "opus", "hello", **early)
    once = json.loads(subprocess.run(script, env=env, capture_output=True, check=True).stdout)["windows"][0]
    subprocess.run([*script, "--set", "100"], env=env, capture_output=True, check=True)

    refused = run(demo, "-p", "hello", **early)
    answered = run(demo, "-p", "hello", **later)

    assert 0 < once["used_percent"] < 100
    assert "2026-11-21T10:00:00.000Z" == once["resets_at"]
    assert (1, "You've hit your session limit · resets 10am (UTC)\n") == (refused.returncode, refused.stdout.decode())
    assert 0 == answered.returncode


def test_eight_prompts_at_once_are_all_charged(demo):
    command = [demo.bin / "demo-claude1", "-p", "1 + 1"]
    started = [
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=demo.project)
        for _ in range(8)
    ]
    codes = [process.wait() for process in started]
    run(demo, "-p", "1 + 1", account="demo-claude2")

    assert [0] * 8 == codes
    one = demo.meter("demo-claude2").read(time.time())[0].spent
    assert 8 * one == demo.meter("demo-claude1").read(time.time())[0].spent > 0
    assert 8 == len(list(demo.account_home("demo-claude1").glob("projects/*/*.jsonl")))


@pytest.mark.parametrize(
    ("number", "code", "stdout"),
    [(signal.SIGINT, 0, b"Execution error\n"), (signal.SIGTERM, 143, b""), (signal.SIGHUP, 129, b"")],
    ids=["INT", "TERM", "HUP"],
)
def test_signal_ends_it_as_it_ends_claude(demo, number, code, stdout):
    process = subprocess.Popen(
        [demo.bin / "demo-claude1", "-p", "x [[stderr:ready]] [[sleep:600]]"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=demo.project,
    )
    with process:
        assert b"ready\n" == process.stderr.readline()
        marker = demo.account_home("demo-claude1") / "sessions" / f"{process.pid}.json"
        assert process.pid == json.loads(marker.read_text())["pid"]
        process.send_signal(number)
        out = process.stdout.read()

    assert (code, stdout) == (process.returncode, out)
    assert not marker.exists()


def test_start_loads_nothing_heavy(shared):
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from oulipoly_demo.clis.agent_cli import main;"
        "main(['claude', '-p', 'hello']);"
        "heavy = {'sqlite3', 'argparse', 'dataclasses', 'inspect', 'subprocess', 'asyncio', 'termios'};"
        "sys.exit(','.join(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [world.ensure(shared.root).python, "-I", "-S", "-c", code, os.environ["PYTHONPATH"].split(":")[0]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"DEMO_CLAUDE_HOME": str(shared.account_home("demo-claude3"))},
        cwd=shared.project,
        check=False,
    )

    assert b"" == done.stderr.strip()
