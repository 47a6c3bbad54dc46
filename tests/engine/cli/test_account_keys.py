"""API keys of accounts: in the keyring or a file, whose they are, and what follows them. Real processes."""

import json
import os
import stat
import sys
from pathlib import Path

import pexpect
import pytest

from oulipoly_engine.adapters.scripts import keyring_entry
from oulipoly_engine.core.accounts.accounts import KeyringSpec
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts import keyring_entries

pytest.importorskip("keyring", reason="the optional package keyring is not installed")

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCRIPTED = (FIXTURES / "scripted_cli.py").read_text()
KEY = "-".join(["sk", "ant", "api03", "0123456789"])  # no line of ours looks like a secret
OTHER = KEY.replace("0", "9")
VARIABLE = "AGENT_RUNNER_API_KEY"


@pytest.fixture
def machine(home, commands):
    """The environment of a machine with a keyring; claude is the fake CLI, opencode only says its version.

    A look into the keyring is forked, where the command is: to import the package takes longer than all else. Tests
    that start the command themselves, or are it, look as users do.
    """
    look = home / "looks" / "keyring-entry"
    commands.write_program(look, keyring_entry.__name__)
    settings = home / ".config" / "python_keyring" / "keyringrc.cfg"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[backend]\ndefault-keyring=file_keyring.FileKeyring\nkeyring-path={FIXTURES}\n")
    (home / "bin").mkdir()
    for name, text in (("claude", f"#!{sys.executable} -IS\n{SCRIPTED}"), ("opencode", "#!/bin/sh\necho 1.18.33\n")):
        (home / "bin" / name).write_text(text)
        (home / "bin" / name).chmod(0o755)
    return {
        "PATH": f"{home}/bin:/usr/bin:/bin",
        "FILE_KEYRING": str(home / "keyring.json"),
        "KEYRING_ENTRY": str(look),
        "THE_KEY": KEY,
        "SCRIPTED": "tells-key",
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


def test_the_set_up_offers_the_keyring_for_a_key(world, home, agents, machine, tmp_path):
    asked = {"type": "api_key_entry", "provider": "claude", "env_var": "ANTHROPIC_API_KEY", "keyring": "of the model"}
    (tmp_path / "1").write_text(json.dumps({"actions": [{"type": "ask_user", "action": asked}]}))
    (tmp_path / "2").write_text('{"done": true}')
    world.account("fake", f"cd {tmp_path}; cat >>prompts; echo >>n; exec cat $(($(wc -l <n)))")
    world.model("fake", "fake")
    given = {"type": "api_key", "provider": "claude", "env_var": "ANTHROPIC_API_KEY", "key": KEY, "in_keyring": True}
    leave = {"type": "confirm", "confirm_id": "agreement-1", "confirmed": True}

    stdin = "".join(f"{json.dumps(line)}\n" for line in (given, leave)).encode()
    done = agents("setup", "run", "--json", "a key", stdin=stdin, env=machine)

    assert 0 == done.returncode, done.stderr
    (place,) = [
        json.loads(line)["data"]["action"]["keyring"] for line in done.stdout.splitlines() if b'"keyring"' in line
    ]
    assert "test keyring" in place
    assert [KEY] == list(keyring_of(home).values())
    assert KEY not in (tmp_path / "prompts").read_text() + done.stdout.decode()
    assert not any(KEY.encode() in path.read_bytes() for path in (home / ".claude-claude").rglob("*") if path.is_file())


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


def test_a_quota_script_gets_the_key_and_nobody_else_sees_it(home, keyed, run):
    """What the script says of its trouble is stored and shown: not with the key in it."""
    script = home / "quota"
    reading = json.dumps({"windows": [{"used_percent": 25, "resets_at": "2999-01-01T00:00:00Z"}]})
    script.write_text(f"""[ "$AGENT_RUNNER_API_KEY" = '{KEY}' ] && [ ! -e {home}/fails ] && echo '{reading}' ||
        {{ echo "refused: <$AGENT_RUNNER_API_KEY>" >&2; exit 1; }}""")
    providers = home / ".config/oulipoly-agent-runner/providers.toml"
    providers.write_text(text(home).replace("[keyed]", f'[keyed]\nquota_script = "sh {script}"', 1))
    script.touch()

    read = run("quota", "check")
    (home / "fails").touch()
    failed = run("quota", "check")
    (home / "keyring.json").write_text("{}")
    without = run("quota", "check")

    assert b"25" in read.stdout, read.stdout + read.stderr
    assert "refused: <•••>".encode() in failed.stdout + failed.stderr
    assert KEY.encode() not in failed.stdout + failed.stderr
    assert b"the keyring does not have it" in without.stdout + without.stderr
    assert [str(script)] == places_of(home, KEY)


@pytest.mark.parametrize("way", [("--keyring",), ()], ids=["keyring", "file"])
def test_a_key_has_no_quota_and_raises_no_alarm(home, run, way):
    """Nothing is derived from its folder, where no login lies that could be asked."""
    added = run(*ADD, *way, "--yes", "--no-test")
    checked = run("quota", "check").stdout.decode()
    run("-m", "claude", "hello")
    doctor = run("doctor", "--json")
    engine = Engine(Surroundings(paths=from_environment()))
    try:
        snapshot = engine.snapshot()
    finally:
        engine.close()

    assert b"quota: no quota known for API keys" in added.stdout
    assert ("FAILED" in checked, "  keyed: no quota known for API keys\n" in checked) == (False, True), checked
    assert [] == [one for one in json.loads(doctor.stdout)["findings"] if one["area"] == "quota" and one["fix"]]
    assert [(True, False, False)] == [(one.uses_key, one.has_source, one.is_due) for one in snapshot.accounts]
    assert [] == [one for one in snapshot.problems if one.kind == "quota"]


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


@pytest.mark.parametrize("mood", ["locked", "keeps"])
def test_an_account_is_removed_whole_or_not_at_all(home, keyed, run, mood):
    """A keyring that is locked, or lets nobody delete anything, is noticed before anything is removed."""
    (home / ".config/oulipoly-agent-runner/models/claude.toml").chmod(0o640)
    before = (text(home), keyring_of(home), sorted(home.rglob(".claude-keyed/*")))
    removed = run("account", "remove", "keyed", "--delete-home", "--yes", KEYRING_MOOD=mood)

    assert 1 == removed.returncode, removed.stdout
    assert b"still in the keyring" in removed.stderr or b"nothing was removed" in removed.stderr
    assert before == (text(home), keyring_of(home), sorted(home.rglob(".claude-keyed/*")))


def test_a_removal_that_fails_undoes_no_change_of_others(home, keyed, run):
    other = f"{sys.executable} -P -m oulipoly_tui account add claude other --no-login --no-test --yes"
    removed = run("account", "remove", "keyed", "--delete-home", "--yes", KEYRING_MOOD="keeps", KEYRING_MEANWHILE=other)

    assert 1 == removed.returncode, removed.stdout
    assert b"still in the keyring" in removed.stderr
    assert b"nothing was undone: added the account other" in removed.stderr
    assert b"[other]" in run("account", "export").stdout.replace(b"accounts.", b"")


def test_a_key_comes_back_where_the_files_cannot_be_written(home, keyed, run):
    undo = home / ".local/share/oulipoly-agent-runner/configuration-undo.json"
    undo.write_text("no JSON")
    before = (text(home), keyring_of(home))
    removed = run("account", "remove", "keyed", "--delete-home", "--yes")

    assert 0 != removed.returncode, removed.stdout
    assert before == (text(home), keyring_of(home))
    assert (home / ".claude-keyed").is_dir()


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


def test_a_key_is_read_and_a_keyring_that_never_answers_is_given_up(keyed, machine, home, monkeypatch):
    place = KeyringSpec(f"{home}/.claude-keyed", VARIABLE)
    with monkeypatch.context() as patch:
        for name, value in machine.items():
            patch.setenv(name, value)
        read = keyring_entries.read_key("keyed", place)
        patch.setenv("KEYRING_MOOD", "hangs")
        found = keyring_entries.find_problem("keyed", place, 0.5)

    assert KEY == read
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
        timeout=60,
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
        (("opencode", "oc", "--api-key-env", "THE_KEY", "--provider", "a/b"), b"'a/b' is not a provider"),
        (("claude", "c", "--api-key-env", "THE_KEY", "--provider", "x"), b"leave --provider out"),
        (("opencode", "oc", "--provider", "openai"), b"--provider says whose API key it is"),
    ):
        done = run("account", "add", *words, "--yes")
        assert (2, True) == (done.returncode, said in done.stderr), (words, done.stderr)

    assert {"bin", "looks", ".cache", ".config", ".local"} >= {path.name for path in home.iterdir()}
    assert ["python_keyring"] == [path.name for path in (home / ".config").iterdir()]
