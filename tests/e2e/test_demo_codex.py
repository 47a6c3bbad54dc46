"""The Codex-like demo CLI as a real process: streams, exit codes, rollouts, resume, quota."""

import json
import os
import signal
import subprocess
import time

import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options

UNKNOWN = "01a1fc4f-d0aa-7b30-8ab0-320ff8eec07d"


@pytest.fixture
def demo(tmp_path):
    return world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))


def run(demo, *arguments, stdin=b"", **env):
    return subprocess.run(
        [demo.bin / "demo-codex1", *arguments],
        input=stdin,
        capture_output=True,
        cwd=demo.project,
        env=world.environment_for(demo, os.environ) | env,
        timeout=60,
        check=False,
    )


def events(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def rollout(demo):
    (path,) = demo.account_home("demo-codex1").glob("sessions/*/*/*/rollout-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def payloads(records, kind):
    return [record["payload"] for record in records if kind in (record["type"], record["payload"].get("type"))]


def test_answer_is_on_stdout_and_the_banner_on_stderr(demo):
    done = run(demo, "exec", "-m", "gpt", "1 + 1")

    assert (0, b"1 + 1 = 2\n") == (done.returncode, done.stdout)
    assert b"model: demo-gpt-1\n" in done.stderr
    assert b"session id: " in done.stderr


def test_json_events_and_the_last_message_file(demo, tmp_path):
    done = run(demo, "exec", "--json", "-o", tmp_path / "last", "1 + 1")

    assert ["thread.started", "turn.started", "item.completed", "turn.completed"] == [e["type"] for e in events(done)]
    assert "1 + 1 = 2" == (tmp_path / "last").read_text() == events(done)[2]["item"]["text"]


def test_rollout_has_the_native_shape(demo):
    started = events(run(demo, "exec", "--json", "hello", DEMO_NOW="2026-11-21T05:00:00Z"))[0]

    records = rollout(demo)
    (header,) = payloads(records, "session_meta")
    assert "session_meta" == records[0]["type"]
    assert (started["thread_id"], str(demo.project)) == (header["id"], header["cwd"])
    assert {"timestamp", "type", "payload"} == set().union(*records)
    roles = [(item["role"], item["content"][0]["type"]) for item in payloads(records, "response_item")]
    assert [("user", "input_text"), ("user", "input_text"), ("assistant", "output_text")] == roles
    assert ["user_message", "agent_message"] == [
        record["payload"]["type"] for record in records if str(record["payload"].get("type")).endswith("_message")
    ]


def test_token_count_carries_the_falling_quota(demo):
    run(demo, "exec", "hello")

    (count,) = payloads(rollout(demo), "token_count")
    limits = count["rate_limits"]
    assert 0 < limits["secondary"]["used_percent"] < limits["primary"]["used_percent"] < 100
    assert (300, 10080) == (limits["primary"]["window_minutes"], limits["secondary"]["window_minutes"])


def test_resume_goes_on_in_the_same_rollout(demo):
    thread_id = events(run(demo, "exec", "--json", "the word is turtle"))[0]["thread_id"]

    done = run(demo, "exec", "-m", "demo-gpt", "--json", "resume", thread_id, "what did I say so far?")

    assert thread_id == events(done)[0]["thread_id"]
    assert "1. the word is turtle" in events(done)[2]["item"]["text"]
    assert 1 == len(payloads(rollout(demo), "session_meta"))
    total = payloads(rollout(demo), "token_count")[-1]["info"]["total_token_usage"]
    assert events(done)[3]["usage"]["input_tokens"] == total["input_tokens"] > 5


def test_unknown_thread_is_refused_and_a_non_uuid_silently_starts_another(demo):
    unknown = run(demo, "exec", "resume", UNKNOWN, "x")
    other = run(demo, "exec", "--json", "resume", "not-a-uuid", "x")

    assert (1, b"") == (unknown.returncode, unknown.stdout)
    assert f"no rollout found for thread id {UNKNOWN}".encode() in unknown.stderr
    assert (0, "thread.started") == (other.returncode, events(other)[0]["type"])


def test_prompt_comes_from_stdin_or_is_joined_by_it(demo):
    alone = run(demo, "exec", "-", stdin=b"1 + 1")
    joined = run(demo, "exec", "--json", "count the words", stdin=b"one two")

    assert b"1 + 1 = 2\n" == alone.stdout
    assert 0 == joined.returncode
    prompts = [e for e in demo.account_home("demo-codex1").glob("sessions/**/*.jsonl") if "<stdin>" in e.read_text()]
    assert 1 == len(prompts)


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("429", "exceeded retry limit, last status: 429 Too Many Requests"),
        ("401", "unexpected status 401 Unauthorized: "),
        ("quota", "You\u2019ve hit your usage limit. "),
    ],
)
def test_failure_is_on_stderr_or_an_event_with_exit_1(demo, directive, text):
    plain = run(demo, "exec", f"x [[{directive}]]")
    as_json = run(demo, "exec", "--json", f"x [[{directive}]]")

    assert (1, b"") == (plain.returncode, plain.stdout)
    assert f"ERROR: {text}" in plain.stderr.decode()
    assert (1, "turn.failed") == (as_json.returncode, events(as_json)[-1]["type"])
    assert events(as_json)[-1]["error"]["message"].startswith(text)


def test_last_message_of_a_failure_is_empty(demo, tmp_path):
    run(demo, "exec", "-o", tmp_path / "last", "x [[429]]")

    assert b"" == (tmp_path / "last").read_bytes()


def test_spent_account_refuses_until_its_reset(demo):
    demo.meter("demo-codex1").set_used(100, "short", time.time())

    assert 1 == run(demo, "exec", "hello").returncode
    assert 0 == run(demo, "exec", "hello", DEMO_NOW="2199-01-01T00:00:00Z").returncode


def test_unknown_option_exits_2_as_with_clap(demo):
    done = run(demo, "exec", "--nope", "x")

    assert 2 == done.returncode
    assert b"error: unexpected argument '--nope' found" in done.stderr


def test_thread_has_one_writer_and_interrupt_exits_1(demo):
    process = subprocess.Popen(
        [demo.bin / "demo-codex1", "exec", "--json", "x [[stderr:ready]] [[sleep:600]]"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=demo.project,
    )
    with process:
        thread_id = json.loads(process.stdout.readline())["thread_id"]
        assert [b"Reading additional input from stdin...\n", b"ready\n"] == [process.stderr.readline() for _ in "12"]
        second = run(demo, "exec", "resume", thread_id, "y")
        process.send_signal(signal.SIGINT)
        process.stdout.read()

    assert 1 == process.returncode
    assert (1, True) == (second.returncode, b"already has an active writer" in second.stderr)
    assert "turn_aborted" == rollout(demo)[-1]["payload"]["type"]


def test_without_a_terminal_there_is_no_interactive_mode(demo):
    done = run(demo)

    assert (1, b"Error: stdin is not a terminal\n") == (done.returncode, done.stderr)
