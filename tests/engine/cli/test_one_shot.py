import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.cli.runs.trace import _run_line
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.spawned import Spawned

RESULT_KEYS = ["error_category", "exit_code", "finished_at", "id", "status", "success", "terminal_reason"]
IDENTITY_KEYS = ["agent_runner_chain_id", "agent_runner_invocation_id", "provider_name", "provider_session_id"]


def test_a_prompt_goes_to_the_cli_and_its_bytes_come_back(world, markers):
    world.account("a", "cat; printf '\\377\\000end'")
    world.model("m", "a")

    done = world.run("-m", "m", "hello", "there")

    answer, line = done.stdout.split(b"\nOULIPOLY_RESULT=")
    assert b"hello there\xff\x00end" == answer
    assert 0 == done.returncode
    assert RESULT_KEYS == list(markers("OULIPOLY_RESULT", done.stdout)[0])
    assert line.endswith(b"}\n")


def test_the_row_is_final_and_carries_the_decision(world, markers):
    world.account("a", "cat")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    identity = markers("OULIPOLY_INVOCATION", done.stderr)[0]
    row = world.rows("SELECT * FROM invocations JOIN decisions ON invocation_id = id")[0]
    assert ("a", identity["id"]) == (identity["source"], row["invocation_uuid"])
    assert ("succeeded", 1, 0, "none") == (
        row["status"],
        row["success"],
        row["exit_code"],
        row["session_capture_method"],
    )
    assert '"account":"a"' in row["decision"]


def test_a_failure_gives_the_childs_code_its_identity_and_none_of_its_stdout(world, markers):
    world.account("a", "echo partial; echo oops >&2; exit 17")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert done.stdout.startswith(b"OULIPOLY_RESULT=")
    assert 17 == done.returncode == result["exit_code"]
    assert sorted(RESULT_KEYS + IDENTITY_KEYS) == list(result)
    assert ("a", None, result["id"]) == (
        result["provider_name"],
        result["provider_session_id"],
        result["agent_runner_invocation_id"],
    )
    assert b"oops\n" in done.stderr
    assert b"partial\n" in done.stderr
    assert b"[diagnostics: unknown]" in done.stderr


def test_trace_says_why_a_run_failed_though_another_one_failed_since(world, markers):
    world.account("a", "echo kaboom in widget sk-ant-api03-" + "Ab1Cd2Ef3G" * 4 + " >&2; exit 3")
    world.model("m", "a")
    first = markers("OULIPOLY_INVOCATION", world.run("-m", "m", "explain the roof").stderr)[0]["id"]
    world.account("b", "echo other >&2; exit 4")
    world.run("-m", "m", "another")

    told = world.run("trace", first[:13]).stdout.decode()
    document = json.loads(world.run("trace", first, "--json").stdout)["root"]["invocation"]

    lines = [line.strip() for line in told.splitlines()]
    assert lines[1].startswith("failed: exit 3 after ")
    assert ["prompt: explain the roof", "│ kaboom in widget [redacted]"] == lines[2:4]
    assert lines[-1].startswith("why a: ")
    assert ("explain the roof", ["kaboom in widget [redacted]"]) == (document["prompt"], document["last_output"])


def test_failed_runs_are_listed_with_the_ids_that_trace_takes(world, markers):
    world.account("a", 'read -r word; [ "$word" != bad ] || exit 3')
    world.model("m", "a")
    world.run("-m", "m", "good")
    failed = markers("OULIPOLY_INVOCATION", world.run("-m", "m", "bad").stderr)[0]["id"]

    listed = world.run("trace", "is:failed").stdout.decode().splitlines()
    documents = [json.loads(world.run("trace", *words, "--json").stdout) for words in (("is:failed",), ())]

    assert [failed[:8]] == [line.split()[0] for line in listed]
    assert [[failed], 1, 2] == [[run["id"] for run in documents[0]["runs"]], *(one["total"] for one in documents)]
    assert b"no run fits" in world.run("trace", "is:failed", "account:b").stdout


def test_the_result_is_kept_in_a_file_too(world, markers):
    world.account("a", "true")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    uuid = markers("OULIPOLY_RESULT", done.stdout)[0]["id"]
    assert done.stdout == (world.data / "invocations" / f"{uuid}.result").read_bytes()


def test_binary_output_can_be_kept_free_of_the_result_line(world, markers):
    world.account("a", "printf '\\211PNG\\r\\n'")
    world.model("m", "a")

    done = world.run("-m", "m", "--result-on-stderr", "x")

    assert b"\x89PNG\r\n" == done.stdout
    assert 1 == len(markers("OULIPOLY_RESULT", done.stderr))


def test_output_streams_while_the_cli_still_runs(world, tmp_path):
    gate = tmp_path / "gate"
    wait = f"i=0; while [ ! -e {gate} ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i+1)); done"
    world.account("a", f"echo first; {wait}; echo second $i")
    world.model("m", "a")
    reader = f"{{ head -c 6; touch {gate}; cat; }}"

    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m oulipoly_tui -m m x | {reader}"], capture_output=True, check=True
    )

    assert done.stdout.startswith(b"first\nsecond ")
    assert b"second 1000" not in done.stdout


def test_a_spent_account_is_marked_and_the_next_one_answers(world, markers):
    world.account("a", "echo 'You have hit your usage limit' >&2; exit 1")
    world.account("b", "cat")
    world.model("m", "a", "b")

    done = world.run("-m", "m", "hi")

    assert done.stdout.startswith(b"hi\nOULIPOLY_RESULT=")
    assert ["a", "b"] == [line["source"] for line in markers("OULIPOLY_INVOCATION", done.stderr)]
    assert b"[routing] provider a returned quota_exhausted" in done.stderr
    assert [("a", "failed", "quota_exhausted", 1), ("b", "succeeded", None, 2)] == [
        (row["provider_name"], row["status"], row["error_category"], row["attempt"])
        for row in world.rows("SELECT * FROM invocations ORDER BY id")
    ]
    assert ["a"] == [row["account"] for row in world.rows("SELECT * FROM account_quotas WHERE exhausted_at NOT NULL")]


def test_a_pool_that_runs_out_says_so_once(world, markers):
    world.account("a", "echo 'usage limit' >&2; exit 1")
    world.account("b", "echo 'usage limit' >&2; exit 1")
    world.model("m", "a", "b")

    done = world.run("-m", "m", "hi")

    failure = markers("OULIPOLY_FAILURE", done.stdout)
    assert 1 == done.returncode
    assert ("pool_exhausted", ["a", "b"]) == (failure[0]["stage"], failure[0]["detail"]["attempted_providers"])
    assert [] == markers("OULIPOLY_RESULT", done.stdout)
    assert b"\nBLOCKED:all-providers-exhausted\n" in done.stderr
    assert b"Error: all providers in pool m are quota-exhausted: a, b" in done.stderr


def test_an_exhausted_pool_starts_nothing(world, markers, tmp_path):
    world.account("a", f"touch {tmp_path}/ran-$(date +%N); echo 'usage limit' >&2; exit 1")
    world.model("m", "a")
    world.run("-m", "m", "hi")
    ran = sorted(tmp_path.glob("ran-*"))

    done = world.run("-m", "m", "hi")

    failure = markers("OULIPOLY_FAILURE", done.stdout)[0]
    assert ("provider_selection", []) == (failure["stage"], failure["detail"]["attempted_providers"])
    assert b"OULIPOLY_INVOCATION" not in done.stderr
    assert ran == sorted(tmp_path.glob("ran-*"))


def test_a_rate_limit_parks_nobody_and_is_not_retried(world, markers):
    world.account("a", "echo 'Error: 429 Too Many Requests' >&2; exit 1")
    world.account("b", "cat")
    world.model("m", "a", "b")

    done = world.run("-m", "m", "hi")

    assert "rate_limit" == markers("OULIPOLY_RESULT", done.stdout)[0]["error_category"]
    assert [] == world.rows("SELECT * FROM account_quotas WHERE exhausted_at NOT NULL")


def test_three_failures_turn_the_pool_to_another_account(world):
    world.account("a", "exit 9")
    world.account("b", "exit 0")
    world.model("m", "a", "b")
    for _ in range(8):
        world.run("-m", "m", "x")

    counts = {row["account"]: row["invocation_count"] for row in world.rows("SELECT * FROM account_counters")}

    assert counts["a"] < 3 < counts["b"]


def test_an_agent_puts_its_instructions_before_the_prompt(world):
    world.account("a", "cat")
    world.model("m", "a")
    world.agent("terse", "m", "Use terse prose.\n")

    assert world.run("terse", "draft", "it").stdout.startswith(b"Use terse prose.\n\n\ndraft it\n")


def test_an_agent_file_without_a_model_drops_the_first_word(world, tmp_path):
    world.account("a", "cat")
    world.model("m", "a")
    file = tmp_path / "x.md"
    file.write_text("---\nmodel: m\n---\n")

    assert world.run("-a", file, "dropped", "kept").stdout.startswith(b"kept\n")
    assert world.run("-a", file, "-m", "m", "all", "kept").stdout.startswith(b"all kept\n")


def test_prompts_come_from_the_file_then_the_words_then_stdin(world, tmp_path):
    world.account("a", "cat")
    world.model("m", "a")
    (tmp_path / "p").write_bytes(b"from \xff file")

    assert world.run("-m", "m", "-f", tmp_path / "p", "words", stdin=b"piped").stdout.startswith(b"from \xff file\n")
    assert world.run("-m", "m", "words", stdin=b"piped").stdout.startswith(b"words\n")
    assert world.run("-m", "m", stdin=b"piped").stdout.startswith(b"piped\n")


def test_a_short_prompt_travels_as_the_last_argument(world):
    world.account("a", 'wc -c; printf "%s|" "$@"', "prompt_mode = 'arg'")
    world.model("m", "a")

    assert world.run("-m", "m", "a b", "c").stdout.startswith(b"0\na b c|\n")


def test_a_long_argument_prompt_travels_in_a_file_that_is_gone_afterwards(world, tmp_path):
    world.account("a", 'ls -l _agent_prompt_*.md; cat _agent_prompt_*.md | wc -c; echo "$1"', "prompt_mode = 'arg'")
    world.model("m", "a")
    (tmp_path / "p").write_bytes(b"x" * 102_401)
    folder = tmp_path / "project"
    folder.mkdir()

    done = world.run("-m", "m", "-f", tmp_path / "p", "-p", folder)

    assert b"\n102401\n" in done.stdout
    assert b"-rw-------" in done.stdout
    assert [] == list(folder.iterdir())


def test_inputs_become_flags(world):
    world.account("a", 'printf "%s|" "$@"')
    extra = (
        "[[inputs]]\nname='duration'\ntype='integer'\nflag='--duration'\nmin=4\nmax=12\ndefault=8\n"
        "[[inputs]]\nname='size'\ntype='enum'\nflag='--size'\noptions=['s','l']\n"
    )
    world.model("m", "a")
    path = world.config / "models" / "m.toml"
    path.write_text(path.read_text() + extra)

    assert world.run("-m", "m", "-i", "size=l", "-i", "seed=7", "x").stdout.startswith(
        b"--size|l|--seed|7|--duration|8|\n"
    )
    bad = world.run("-m", "m", "-i", "duration=3", "x")
    assert (2, b"") == (bad.returncode, bad.stdout)
    assert b"below minimum" in bad.stderr


def test_a_nested_call_is_linked_to_its_parent(world, markers):
    world.account("a", "cat >/dev/null; $PY -m oulipoly_tui -m inner deep")
    world.account("b", "cat")
    world.model("outer", "a")
    world.model("inner", "b")

    done = world.run("-m", "outer", "x", env={"PY": sys.executable})

    inner, outer = (line["id"] for line in markers("OULIPOLY_RESULT", done.stdout))
    rows = {row["invocation_uuid"]: row for row in world.rows("SELECT * FROM invocations")}
    assert rows[outer]["id"] == rows[inner]["parent_invocation_id"]
    traced = world.run("trace", outer)
    assert f"  └── {inner}  b  inner  succeeded".encode() in traced.stdout
    assert traced.stdout == world.run("trace", outer[:8].upper()).stdout


@pytest.mark.parametrize(
    "value",
    ["rubbish", '{"source":"b","id":"9e69e8cc-616d-4640-bf1d-96f5391b1a2e"}', '{"source":"a","id":"x","extra":1}'],
    ids=["rubbish", "unknown", "extra-field"],
)
def test_a_parent_that_does_not_exist_makes_a_root(world, value):
    world.account("a", "cat")
    world.model("m", "a")

    done = world.run("-m", "m", "x", env={"OULIPOLY_PARENT_INVOCATION": value})

    assert 0 == done.returncode
    assert [None] == [row["parent_invocation_id"] for row in world.rows("SELECT * FROM invocations")]


FORCED = """
[a.session_capture]
kind = "forced_flag_verified"
flag = "--session-id"
readback_args = ["--verbose"]
"""
EVENT = """
[a.session_capture]
kind = "stdout_json_event"
json_flag = "--json"
last_message_flag = "-o"
event_type = "thread.started"
event_id_path = "thread_id"
"""


def test_a_forced_session_id_is_verified_and_gets_a_chain(world):
    world.account("a", 'echo "{\\"type\\":\\"result\\",\\"session_id\\":\\"$2\\"}"', FORCED)
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    row = world.rows("SELECT * FROM invocations")[0]
    segment = world.rows("SELECT * FROM session_chain_segments")[0]
    assert "forced_flag_verified" == row["session_capture_method"]
    assert row["session_id"] == segment["session_id"]
    assert row["session_id"].encode() in done.stdout


def test_another_session_id_than_the_forced_one_is_a_failed_capture_of_a_good_run(world):
    world.account("a", 'echo "{\\"type\\":\\"result\\",\\"session_id\\":\\"other\\"}"', FORCED)
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    row = world.rows("SELECT * FROM invocations")[0]
    assert (0, "succeeded", "failed", None) == (
        done.returncode,
        row["status"],
        row["session_capture_method"],
        row["session_id"],
    )
    assert b"[session-capture] " in done.stderr


def test_an_event_session_id_is_read_and_the_answer_comes_from_the_file(world):
    script = 'echo "{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"t-1\\"}"; printf answer > "$3"'
    world.account("a", script, EVENT)
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert done.stdout.startswith(b"answer\nOULIPOLY_RESULT=")
    assert ("t-1", "stdout_json_event") == tuple(
        world.rows("SELECT session_id, session_capture_method FROM invocations")[0].values()
    )


def test_a_missing_account_is_a_resolution_failure(world, markers):
    world.account("other", "cat")
    world.model("m", "ghost")

    done = world.run("-m", "m", "x")

    failure = markers("OULIPOLY_FAILURE", done.stdout)[0]
    assert ("provider_resolution", ["ghost"], 0) == (
        failure["stage"],
        failure["detail"]["attempted_providers"],
        failure["detail"]["provider_index"],
    )
    assert b"Error: " in done.stderr
    assert 1 == done.returncode


def test_a_timeout_ends_the_cli_with_124(world, markers):
    world.account("a", "sleep 60")
    world.model("m", "a")

    done = world.run("-m", "m", "--timeout", "0.3", "x")

    assert 124 == done.returncode
    result = markers("OULIPOLY_RESULT", done.stdout)[0]
    assert ("timeout", "hung_subprocess") == (result["terminal_reason"], result["error_category"])
    assert b"Error: a was stopped at its time limit" in done.stderr


def test_a_reader_that_leaves_ends_the_run_quietly(world):
    world.account("a", "yes")
    world.model("m", "a")

    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m oulipoly_tui -m m x | head -c 5; echo; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        check=True,
        env=dict(os.environ),
    )

    assert b"y\ny\ny\n0\n" == done.stdout
    assert b"Traceback" not in done.stderr
    assert ["stdout_closed"] == [row["terminal_reason"] for row in world.rows("SELECT * FROM invocations")]


ENTRY = '{{"session_id":"{session}","turn_id":"t{number}","timestamp":"{at}","role":"{role}"}}'


def turn_script(path):
    """Return a CLI that notes one entry of a session, and the turn script that tells of it."""
    now = "$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)"
    line = ENTRY.format(session="5169694d-de0f-40d1-890c-6e28e55bab27", number="$$", at=now, role="assistant")
    return f"cat; echo {json.dumps(line)} >> {path}", f"cat {path} 2>/dev/null || true"


def test_a_run_that_tells_no_session_gets_the_one_whose_turns_it_left(world, tmp_path):
    cli, scan = turn_script(tmp_path / "turns")
    world.account("a", cli)
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = {json.dumps(scan)}\n")

    done = world.run("-m", "m", "x")

    row = world.rows("SELECT session_id, session_capture_method FROM invocations")[0]
    assert ("5169694d-de0f-40d1-890c-6e28e55bab27", "turn_script") == tuple(row.values())
    assert b"for the first time" in done.stderr
    assert b"for the first time" not in world.run("-m", "m", "x").stderr
    assert 2 == world.rows("SELECT COUNT(*) n FROM session_turns")[0]["n"]


def test_a_turn_script_that_fails_costs_the_run_nothing(world):
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text("[a]\nturn_script = 'echo oops >&2; exit 3'\n")

    done = world.run("-m", "m", "x")

    assert 0 == done.returncode
    assert done.stdout.startswith(b"x\nOULIPOLY_RESULT=")


def test_what_we_could_not_pass_on_is_no_failure_of_the_account(world):
    world.account("a", "yes")
    world.model("m", "a")
    for _ in range(3):
        subprocess.run(
            ["bash", "-c", f"{sys.executable} -m oulipoly_tui -m m x | head -c 5"],
            capture_output=True,
            check=True,
            env=dict(os.environ),
        )

    (candidate,) = json.loads(world.run("why", "m", "--json").stdout)["candidates"]

    assert 0 == candidate["recent_errors"]


def test_a_member_that_is_not_configured_is_warned_of_and_left_out(world):
    world.account("a", "echo served")
    world.model("m", "a", "ghost")

    done = [world.run("-m", "m", "x") for _ in range(3)]

    assert [0, 0, 0] == [one.returncode for one in done]
    assert all(b"served" in one.stdout for one in done)
    assert b"Warning: ghost, of model m, is not in providers.toml" in done[0].stderr


@pytest.mark.parametrize(
    "printed",
    ['{"type": ["string", "null"]}', '{"type": {"a": 1}}', '{"type": "error", "message": "\\ud800"}', "[]", "{"],
)
def test_a_failing_cli_may_print_any_json(world, markers, printed):
    world.account("a", f"printf '%s\\n' '{printed}'; exit 3")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert 3 == done.returncode == markers("OULIPOLY_RESULT", done.stdout)[0]["exit_code"]
    assert printed.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_one_shots_begun_at_once_on_equal_accounts_are_spread(world):
    for name in "abc":
        world.account(name, f"touch {world.home}/began-{name}; until [ -e {world.home}/go ]; do sleep 0.05; done")
    world.model("m", "a", "b", "c")
    command = [sys.executable, "-m", "oulipoly_tui", "-m", "m", "x"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    runs = [subprocess.Popen(command, cwd=world.home, **quiet) for _ in range(3)]
    deadline = time.monotonic() + 60
    try:
        while not all((world.home / f"began-{name}").exists() for name in "abc"):
            assert time.monotonic() < deadline, [path.name for path in world.home.glob("began-*")]
            time.sleep(0.02)
    finally:
        (world.home / "go").touch()
        codes = [run.wait(60) for run in runs]

    assert [0, 0, 0] == codes


def test_runs_of_every_age_are_listed_in_columns():
    now = datetime(2026, 11, 22, 12, tzinfo=UTC)
    ages = (timedelta(minutes=5), timedelta(hours=23, minutes=59), timedelta(days=6, hours=23), timedelta(days=30))
    runs = [
        Spawned(1, "a" * 36, None, "opus", "ada", "succeeded", None, to_text(now - age), None, None) for age in ages
    ]

    assert 1 == len({_run_line(run, now).index("opus on ada") for run in runs})
