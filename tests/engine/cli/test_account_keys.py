"""API keys of accounts: in the keyring or a file, whose they are, and what follows them. Real processes."""

import json
import os
import stat
import sys
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.core.accounts.accounts import KeyringSpec
from oulipoly_engine.service.accounts import keyring_entries

pytest.importorskip("keyring", reason="the optional package keyring is not installed")

FIXTURES = Path(__file__).parents[2] / "fixtures"
FAKE = (FIXTURES / "fake_cli.py").read_text()
KEY = "-".join(["sk", "ant", "api03", "0123456789"])  # no line of ours looks like a secret
OTHER = KEY.replace("0", "9")
VARIABLE = "AGENT_RUNNER_API_KEY"


@pytest.fixture
def machine(home):
    """The environment of a machine with a keyring; claude is the fake CLI, opencode only says its version."""
    (home / "bin").mkdir()
    for name, text in (("claude", f"#!{sys.executable}\n{FAKE}"), ("opencode", "#!/bin/sh\necho 1.18.33\n")):
        (home / "bin" / name).write_text(text)
        (home / "bin" / name).chmod(0o755)
    return {
        "PATH": f"{home}/bin:/usr/bin:/bin",
        "PYTHONPATH": str(FIXTURES),
        "PYTHON_KEYRING_BACKEND": "file_keyring.FileKeyring",
        "FILE_KEYRING": str(home / "keyring.json"),
        "THE_KEY": KEY,
        "FAKE_CLI": "tells-key",
    }


@pytest.fixture
def run(agents, machine):
    """Run our command without a terminal and return the finished process."""
    return lambda *words, **variables: agents(*words, env=machine | variables)


@pytest.fixture
def keyed(run):
    """The account `keyed` of claude, its key in the keyring."""
    done = run(*ADD, "--keyring", "--yes", "--no-test")
    assert 0 == done.returncode, done.stderr
    return done


ADD = ("account", "add", "claude", "keyed", "--api-key-env", "THE_KEY")


def keyring_of(home):
    return json.loads((home / "keyring.json").read_text())


def text(home):
    return (home / ".config/oulipoly-agent-runner/providers.toml").read_text()


def places_of(home, secret):
    """Every file below the home, the keyring's apart, that has a secret in it."""
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "keyring.json")
    return [str(path) for path in files if secret.encode() in path.read_bytes()]


def test_a_key_in_the_keyring_is_in_no_file_and_reaches_the_cli(home, keyed, run):
    asked = run("-m", "claude", "hello")

    assert {f"agent-runner:{home}/.claude-keyed": KEY} == keyring_of(home)
    assert (f"{KEY}\n").encode() in asked.stdout
    assert [] == places_of(home, KEY)
    assert KEY.encode() not in keyed.stdout + keyed.stderr + asked.stderr
    assert b"logged in  API key" in run("account", "show", "keyed").stdout
    assert b"keyed: signed in" in run("doctor").stdout


def test_the_key_follows_its_account(home, keyed, run):
    run("account", "rename", "keyed", "job", "--yes")
    (home / "backup").write_bytes(run("account", "export").stdout)
    removed = run("account", "remove", "job", "--yes")
    back = run("account", "import", home / "backup", "--yes")
    assert (0, 0) == (removed.returncode, back.returncode), removed.stderr + back.stderr
    after_import = run("-m", "claude", "hello").stdout
    renewed = run("account", "login", "job", "--api-key-env", "THE_KEY", THE_KEY=OTHER)
    run("account", "undo", "--yes")
    run("account", "undo", "--yes")
    after_undo = run("-m", "claude", "hello").stdout
    gone = run("account", "remove", "job", "--delete-home", "--yes")

    assert [True, True] == [KEY.encode() in after_import, OTHER.encode() in after_undo]
    assert (0, 0) == (renewed.returncode, gone.returncode), renewed.stderr + gone.stderr
    assert ({}, False) == (keyring_of(home), (home / ".claude-keyed").exists())


NONE = "keyring.backends.null.Keyring"
TROUBLES = {
    "locked": ({"KEYRING_MOOD": "locked"}, b"the keyring is locked: unlock it"),
    "gone": ({"FILE_KEYRING": "/dev/null/x"}, b"the keyring does not have it: put it there again with `agents account"),
    "no keyring": ({"PYTHON_KEYRING_BACKEND": NONE}, b"no keyring is there that keeps secrets: start it"),
}


@pytest.mark.parametrize("case", TROUBLES)
def test_a_key_that_cannot_be_read_is_told_with_the_way_out(keyed, run, case):
    variables, said = TROUBLES[case]
    asked = run("-m", "claude", "hello", **variables)
    doctor = run("doctor", **variables)
    login = run("account", "login", "keyed")

    assert (1, True) == (asked.returncode, said in asked.stderr), asked.stderr
    assert (1, True) == (doctor.returncode, said.partition(b":")[0] in doctor.stdout), doctor.stdout
    assert (2, True) == (login.returncode, b"give a new one by --api-key-env" in login.stderr)


def test_a_keyring_that_never_answers_is_given_up(keyed, machine, home, monkeypatch):
    with monkeypatch.context() as patch:
        for name, value in (machine | {"KEYRING_MOOD": "hangs"}).items():
            patch.setenv(name, value)
        found = keyring_entries.find_problem("keyed", KeyringSpec(f"{home}/.claude-keyed", VARIABLE), 0.5)

    assert found is not None
    assert "the keyring timed out after 0.5 s" == found.cause


def test_without_a_keyring_the_option_is_refused_and_nothing_stays(home, run):
    done = run(*ADD, "--keyring", "--yes", PYTHON_KEYRING_BACKEND=NONE)
    locked = run(*ADD, "--keyring", "--yes", KEYRING_MOOD="locked")
    alone = run("account", "add", "claude", "keyed", "--keyring", "--no-login")

    assert (1, True) == (done.returncode, b"there is no keyring that keeps secrets" in done.stderr)
    assert (1, True) == (locked.returncode, b"the keyring is locked" in locked.stderr)
    assert (2, True) == (alone.returncode, b"--keyring keeps an API key" in alone.stderr)
    assert not (home / ".claude-keyed").exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_keyring_is_offered_where_there_is_one(home, machine, answer):
    cli = pexpect.spawn(
        sys.executable,
        ["-m", "oulipoly_tui", *ADD, "--no-test", "--pool", "claude"],
        env=dict(os.environ) | machine | {"TERM": "xterm"},
        cwd=str(home),
        encoding="utf-8",
        timeout=25,
        dimensions=(40, 200),
    )
    cli.delayafterclose = cli.delayafterterminate = cli.ptyproc.delayafterclose = 0
    cli.expect_exact("Keep the key in the keyring (test keyring)?")
    cli.send(f"{answer}\r")
    cli.expect_exact("Write 4 files? (y/n) ")
    cli.send("y\r")
    cli.expect(pexpect.EOF)
    cli.close()

    assert 0 == cli.exitstatus, cli.before
    assert (answer == "y") == ("[keyed.keyring]" in text(home))
    assert [f"{home}/.claude-keyed/api-key"] * (answer == "n") == places_of(home, KEY)


@pytest.mark.parametrize("place", ["file", "keyring"])
def test_keys_of_several_providers_stand_side_by_side(home, run, place):
    added = run(
        "account",
        *("add", "opencode", "oc", "--api-key-env", "OPENAI_API_KEY", "--yes", "--no-test"),
        *["--keyring"] * (place == "keyring"),
        OPENAI_API_KEY=KEY,
    )
    second = run("account", "login", "oc", "--api-key-env", "THE_KEY", "--provider", "anthropic", THE_KEY=OTHER)
    assert (0, 0) == (added.returncode, second.returncode), added.stderr + second.stderr
    file = home / ".opencode-oc/data/opencode/auth.json"
    kept = file.read_text() if place == "file" else keyring_of(home)[f"agent-runner:{home}/.opencode-oc"]

    assert {"openai": {"type": "api", "key": KEY}, "anthropic": {"type": "api", "key": OTHER}} == json.loads(kept)
    assert (place == "keyring") == ('variable = "OPENCODE_AUTH_CONTENT"' in text(home))
    assert place == "keyring" or 0o600 == stat.S_IMODE(file.stat().st_mode)


def test_it_is_said_whose_key_it_is(home, run):
    for words, said in (
        (("opencode", "oc", "--api-key-env", "THE_KEY"), b"say whose key it is, with --provider"),
        (("opencode", "oc", "--api-key-env", "THE_KEY", "--provider", "a/b"), b"'a/b' is no provider"),
        (("claude", "c", "--api-key-env", "THE_KEY", "--provider", "x"), b"leave --provider out"),
        (("opencode", "oc", "--provider", "openai"), b"--provider says whose API key it is"),
    ):
        done = run("account", "add", *words, "--yes")
        assert (2, True) == (done.returncode, said in done.stderr), (words, done.stderr)

    assert {"bin", ".cache", ".local"} >= {path.name for path in home.iterdir()}
