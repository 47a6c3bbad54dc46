"""After a run its entries are stored and its transcript is kept; standard streams that are closed harm nothing."""

import json
import subprocess
import sys

import pytest

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
RESUME = "[a.resume]\nkind = 'flag'\nflag = '--resume'\n"
# A CLI that adds a turn to its session's transcript.
WRITES = """for words in user:go assistant:said; do
printf '{"type":"%s","sessionId":"SESSION","uuid":"%s","timestamp":"%s","cwd":"/work","message":{"content":"%s"}}\\n' \
"${words%:*}" "$$$words" "$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)" "${words#*:}" >> ROOT/-work/SESSION.jsonl
done; echo said"""


@pytest.fixture
def claude(world):
    """A world with a Claude account whose session has one entry, scanned and kept."""
    root = world.home / ".claude" / "projects"
    (root / "-work").mkdir(parents=True)
    world.root = root
    script = WRITES.replace("SESSION", SESSION).replace("ROOT", str(root))
    world.account("a", script, RESUME)
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {root}'\n")
    world.model("m", "a")
    record = {"type": "user", "sessionId": SESSION, "uuid": "u1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/work"}
    (root / "-work" / f"{SESSION}.jsonl").write_text(json.dumps(record | {"message": {"content": "ask"}}) + "\n")
    world.run("session-scan")
    return world


def shown(world):
    return json.loads(world.run("session", "show", SESSION, "--json").stdout)


@pytest.mark.parametrize("command", [("resume", "--session-id", SESSION, "--prompt", "go"), ("resume", SESSION, "go")])
def test_turns_of_a_resumed_session_are_there_at_once(claude, command):
    assert 1 == shown(claude)["turns"]
    done = claude.run(*command)

    assert (0, 3) == (done.returncode, shown(claude)["turns"]), done.stderr


def test_transcript_of_a_run_is_kept_as_it_left_it(claude):
    claude.run("resume", SESSION, "go")
    listed = json.loads(claude.run("session", "archive", "--list", "--json").stdout)

    assert ["kept"] == [one["state"] for one in listed["transcripts"]]


def test_run_that_the_app_started_leaves_the_same(claude):
    command = [sys.executable, "-m", "oulipoly_engine.cli.runs.app_one_shot", "--model", "m"]
    done = subprocess.run(command, input=b"go", capture_output=True, timeout=60, check=False)
    listed = json.loads(claude.run("session", "archive", "--list", "--json").stdout)
    session = json.loads(claude.run("session", "show", SESSION, "--json", "--no-scan").stdout)

    assert (0, ["kept"], 3) == (done.returncode, [one["state"] for one in listed["transcripts"]], session["turns"])


def test_archive_that_is_switched_off_keeps_nothing(claude):
    (claude.config / "config.toml").write_text("archive = false\n")
    claude.run("resume", SESSION, "go")
    listed = json.loads(claude.run("session", "archive", "--list", "--json").stdout)

    assert ["behind"] == [one["state"] for one in listed["transcripts"]]


def test_answer_that_is_given_twice_is_refused(claude):
    done = claude.run("resume", SESSION, "go", "--prompt", "on")

    assert (2, True) == (done.returncode, b"several answers" in done.stderr)


def test_session_that_its_cli_deleted_says_that_a_copy_is_kept(claude):
    (claude.config / "providers.toml").unlink()
    claude.account("a", "echo 'No conversation found with session ID: x'; exit 1", RESUME)
    (claude.root / "-work" / f"{SESSION}.jsonl").unlink()
    done = claude.run("resume", SESSION, "go")

    assert f"session archive --restore {SESSION}" in done.stderr.decode()


@pytest.mark.parametrize("command", [("locate", SESSION), ("move", SESSION, "b")])
def test_what_needs_a_deleted_transcript_says_that_a_copy_is_kept(claude, command):
    storage = (
        f"[NAME.session_storage]\nkind = 'script'\ncwd_script = 'claude-code-cwd {claude.root}'\n"
        f"transcript_script = 'claude-code-locate-transcript {claude.root}'\nstorage_type = 'claude_code'\n"
    )
    (claude.config / "providers.toml").unlink()
    for name in "ab":
        claude.account(name, "true", RESUME.replace("[a.", f"[{name}.") + storage.replace("NAME", name))
    (claude.root / "-work" / f"{SESSION}.jsonl").unlink()
    done = claude.run("session", *command)

    assert f"session archive --restore {SESSION}` restores it" in done.stderr.decode()


@pytest.mark.parametrize("command", [("resume", SESSION), ("session", "unbundle"), ("-m", "m"), ("--resume", SESSION)])
def test_closed_stdin_is_no_input_and_no_crash(claude, command):
    line = f"exec {sys.executable} -m oulipoly_tui {' '.join(command)} <&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=60, check=False)

    assert b"Traceback" not in done.stderr
    assert done.returncode in (1, 2)
