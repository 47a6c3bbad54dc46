"""What a one-shot was asked and answered becomes entries, whatever its CLI keeps and tells."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

PROMPT, ANSWER = "greet the walrus", "good day, walrus"
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4
TELLS_ID = """
[a.session_capture]
kind = "stdout_json_event"
json_flag = "--json"
last_message_flag = "-o"
event_type = "thread.started"
event_id_path = "thread_id"
"""
TELLING = 'echo "{\\"type\\":\\"thread.started\\",\\"thread_id\\":\\"t-1\\"}"; printf "%s" \'ANSWER\' > "$3"'
RESUMES = "[a.resume]\nkind = 'flag'\nflag = '--resume'\n"


@pytest.fixture
def ask(world, markers):
    """Run the prompt through a CLI and return the id of the run."""

    def ask(*words, prompt=PROMPT):
        done = world.run("-m", "m", prompt, *words)
        return markers("OULIPOLY_INVOCATION", done.stderr)[0]["id"]

    return ask


def export(world, session):
    lines = world.run("session", "export", session).stdout.splitlines()
    return [(each["role"], each["content"][0]["text"]) for each in map(json.loads, lines)]


def test_one_whose_cli_tells_an_id_is_entered_there_once_and_without_secrets(world, ask):
    world.account("a", TELLING.replace("ANSWER", f"the key is {SECRET}"), TELLS_ID)
    world.model("m", "a")
    ask()
    ask()

    (listed,) = json.loads(world.run("session", "list", "--json").stdout)["conversations"]
    said = [("user", PROMPT), ("assistant", "the key is [redacted]")]

    assert ("t-1", str(world.home)) == (listed["session_id"], listed["workspace"])
    assert said * 2 == export(world, listed["chain_id"])
    assert [] == [*(world.data / "invocations" / "unread").iterdir()]


def test_what_has_no_id_of_its_cli_cannot_go_on_and_says_so(world, ask):
    world.account("a", "cat", RESUMES)
    world.model("m", "a")
    identity = ask()
    world.run("session", "list")

    done = world.run("resume", identity, "go on")

    assert (1, True) == (done.returncode, b"it kept no session" in done.stderr)


def test_a_run_that_is_killed_leaves_what_it_was_asked(world, tmp_path):
    world.account("a", f"echo $$ > {tmp_path}/pid; echo begun; sleep 60")
    world.model("m", "a")
    line = [sys.executable, "-m", "oulipoly_tui", "-m", "m", PROMPT]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as runner:
        assert b"begun\n" == runner.stdout.readline()
        runner.kill()
    with suppress(ProcessLookupError):  # it may end with its runner
        os.killpg(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    (listed,) = json.loads(world.run("session", "list", "is:failed", "--json").stdout)["conversations"]

    (row,) = world.rows("SELECT * FROM invocations")
    assert (row["invocation_uuid"], "failed") == (listed["session_id"], listed["status"])
    assert [("user", PROMPT)] == export(world, listed["session_id"])


def test_what_is_asked_is_found_while_it_runs_and_the_answer_behind_it(world, tmp_path):
    world.account("a", f"until [ -e {tmp_path}/go ]; do sleep 0.02; done; echo '{ANSWER}'")
    world.model("m", "a")
    line = [sys.executable, "-m", "oulipoly_tui", "-m", "m", PROMPT]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as runner:
        identity = json.loads(runner.stderr.readline().partition(b"=")[2])["id"]
        while not (found := json.loads(world.run("session", "search", "walrus", "--json").stdout)["hits"]):
            pass
        (tmp_path / "go").touch()

    assert [identity] == [hit["session_id"] for hit in found]
    assert [("user", PROMPT), ("assistant", f"{ANSWER}\n")] == export(world, identity)


def test_where_nobody_looks_runs_enter_what_has_piled_up(world, ask):
    world.account("a", f"echo '{ANSWER}'")
    world.model("m", "a")
    identity = ask()
    unread = world.data / "invocations" / "unread"
    for number in range(100):
        (unread / f"of-a-state-file-that-is-gone-{number}").touch()
        os.utime(unread / f"of-a-state-file-that-is-gone-{number}", (0, 0))
    ask()

    assert [] == [*unread.iterdir()]
    assert [PROMPT, f"{ANSWER}\n"] == [
        json.loads(row["body"])[0]["text"]
        for row in world.rows("SELECT body FROM session_turns WHERE session_id = ? ORDER BY id", identity)
    ]


def test_an_account_that_was_not_asked_is_no_session(world, ask):
    world.account("a", "echo 'You have hit your usage limit' >&2; exit 1")
    world.account("b", f"echo '{ANSWER}'")
    world.model("m", "a", "b")
    ask()

    listed = json.loads(world.run("session", "list", "--json").stdout)["conversations"]

    assert ["b"] == [each["account"] for each in listed]
