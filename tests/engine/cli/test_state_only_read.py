"""What can be asked while the state file cannot be written: on a full disk, and in a folder without rights."""

import json
import os
import subprocess
import sys

import pytest

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
# Files that may not have a byte: for root and for users what a full disk is.
FULL = """
import json, resource, sys
from oulipoly_engine.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
for command in json.loads(sys.argv[1]):
    print("$", *command, flush=True)
    print("$", *command, file=sys.stderr, flush=True)
    print("=", main(command), flush=True)
"""
APP = """
import resource
from oulipoly_engine.facade.engine import Engine
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
engine = Engine()
rows = engine.sessions.catalogue.board().rows
print([row.session.active.session_id for row in rows], [one.kind for one in engine.snapshot().problems])
"""
ANSWERS = {
    "session list --no-scan": "find the needle",
    "session list": "find the needle",
    "session search needle": "«needle»",
    "session show 5169694d": "find the needle",
    f"session export {SESSION}": '"turn_id":"e0"',
    "report --by model": "claude-opus-4-5",
    "report --model none": "no API calls that match are stored",
    "report --json": '"transcripts": null',
    "why m": "acc",
    "trace {run}": "succeeded",
    "forecast": "",
    "account list": "acc",
    "status": "",
    "terminals": "no terminals",
}
REFUSED = ("-m m again", f"session name {SESSION} x", "session-scan", "account drain acc")


@pytest.fixture
def stored(world, markers):
    """A world with a run, and a session that is read and indexed."""
    root = world.home / ".claude" / "projects"
    (root / "-work").mkdir(parents=True)
    message = {"sessionId": SESSION, "type": "user", "uuid": "e0", "timestamp": "2026-11-20T08:00:00Z"}
    text = json.dumps(message | {"cwd": "/work", "message": {"content": "find the needle"}})
    answer = {"id": "m1", "model": "claude-opus-4-5", "role": "assistant", "content": "here it is"}
    answer |= {"usage": {"input_tokens": 3, "output_tokens": 5}}
    called = json.dumps(message | {"type": "assistant", "uuid": "e1", "parentUuid": "e0", "message": answer})
    (root / "-work" / f"{SESSION}.jsonl").write_text(f"{text}\n{called}\n")
    storage = f"""[acc.session_storage]
kind = "script"
storage_type = "claude_code"
transcript_script = "claude-code-locate-transcript {root}"
cwd_script = "claude-code-cwd {root}"
"""
    world.account("acc", "echo ran", storage)
    world.model("m", "acc")
    (world.config / "sessions.toml").write_text(f"[acc]\nturn_script = 'claude-code-turns {root}'\n")
    ran = world.run("-m", "m", "hello")
    assert 0 == world.run("session", "search", "needle").returncode
    assert b"claude-opus-4-5" in world.run("report", "--by", "model").stdout
    (marker,) = markers("OULIPOLY_INVOCATION", ran.stderr)
    world.invocation = marker["id"]
    return world


def run_on_full_disk(commands):
    """Return what each command printed on stdout and on stderr, and its exit code."""
    arguments = json.dumps([command.split() for command in commands])
    done = subprocess.run([sys.executable, "-c", FULL, arguments], capture_output=True, text=True, check=False)
    parts = [[part.partition("\n")[2] for part in f"\n{text}".split("\n$ ")[1:]] for text in (done.stdout, done.stderr)]
    return [(out.rpartition("= ")[0], err, int(out.rpartition("= ")[2])) for out, err in zip(*parts, strict=True)]


def test_on_a_full_disk_everything_stored_can_be_read_and_that_is_said_once(stored):
    commands = [command.format(run=stored.invocation) for command in ANSWERS]
    files = sorted(stored.data.iterdir())
    for command, words, (out, err, code) in zip(commands, ANSWERS.values(), run_on_full_disk(commands), strict=True):
        assert (0, 1) == (code, err.count("It is only read for now")), (command, out, err)
        assert words in out, command
        assert "free some space" in err

    assert "find the needle" in stored.run("session", "show", SESSION).stdout.decode()
    assert files == sorted(stored.data.iterdir())


def test_on_a_full_disk_what_has_to_write_says_so_and_does_nothing(stored):
    for command, (out, err, code) in zip(REFUSED, run_on_full_disk(REFUSED), strict=True):
        assert (1, "") == (code, out), command
        assert "free some space" in err
        assert "OULIPOLY_INVOCATION" not in err


def test_artifacts_that_cannot_be_written_are_listed_and_printed(world):
    assert 0 == world.run("artifact", "put", "notes/plan", stdin=b"the plan").returncode
    (listed, _, code), (content, _, printed) = run_on_full_disk(["artifact list", "artifact get notes/plan"])

    assert (0, 0) == (code, printed)
    assert "notes/plan@1" in listed
    assert "the plan" in content


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_in_a_folder_without_rights_the_same_can_be_read(stored):
    for path in (stored.data / "state.db", stored.data):
        path.chmod(path.stat().st_mode & 0o500)
    done = stored.run("session", "list")
    stored.data.chmod(0o700)

    assert b"find the needle" in done.stdout
    assert 1 == done.stderr.count(b"OULIPOLY_DATA_DIR")


def test_the_app_lists_what_is_stored_and_says_that_nothing_new_is(stored):
    done = subprocess.run([sys.executable, "-c", APP], capture_output=True, text=True, check=False)

    assert (f"[{SESSION!r}] ['state', 'quota']\n", "") == (done.stdout, done.stderr)
