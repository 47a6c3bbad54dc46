"""`runtime`: real processes, small CLIs in a scratch PATH that say who they are, a terminal for the login."""

import json
import sys
from pathlib import Path

import pytest

SCRIPTED = Path(__file__).parents[2] / "fixtures" / "scripted_cli.py"
# opencode opens a session though its auth.json is empty: its key stands in its settings.
OPENCODE = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    info = {"protocolVersion": 1, "agentInfo": {"name": "opencode", "version": "1.18.33"}, "agentCapabilities": {}}
    result = info if asked["method"] == "initialize" else {"sessionId": "ses_1"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
PROVIDERS = """
[work]
command = "claude"
args = ["-p", "--model", "opus", "--settings", "CANARY"]
[other]
command = "codex"
args = ["exec"]
[odd]
command = "aider"
"""


@pytest.fixture
def config(home):
    folder = home / ".config" / "oulipoly-agent-runner"
    folder.mkdir(parents=True)
    (folder / "providers.toml").write_text(PROVIDERS)
    return folder


@pytest.fixture
def machine(home):
    """The environment of a machine on which claude and codex are installed; for `talk` too."""
    (home / "bin").mkdir()
    for name in ("claude", "codex"):
        (home / "bin" / name).write_text(f"#!{sys.executable}\n{SCRIPTED.read_text()}")
        (home / "bin" / name).chmod(0o755)
    return {"PATH": f"{home}/bin:/usr/bin:/bin", "SCRIPTED_MAIL": "ann@example.com"}


@pytest.fixture
def run(agents, machine, config):
    """Run a verb without a terminal and return the finished process."""

    def run(*words, **variables):
        return agents("runtime", *words, env=machine | variables)

    return run


@pytest.fixture
def read(run):
    """Run a verb with --json and return its document."""

    def read(*words, **variables):
        done = run(*words, "--json", **variables)
        assert 0 == done.returncode, done.stderr
        document = json.loads(done.stdout)
        assert 1 == document["schema_version"]
        return document

    return read


def by_id(document):
    return {one["runtime_id"]: one for one in document["runtimes"]}


def test_each_account_has_a_runtime_before_anything_is_started(read, home):
    runtimes = by_id(read("list", SCRIPTED_LOG=str(home / "log")))

    assert {"work": "claude", "other": "codex"} == {name: one["kind"] for name, one in runtimes.items()}
    assert {"degraded"} == {one["status"]["state"] for one in runtimes.values()}
    assert all(isinstance(value, bool) for value in runtimes["work"]["capabilities"].values())
    assert runtimes["work"]["capabilities"]["supports_interrupt"]
    assert not (home / "log").exists()


def test_a_refresh_tells_version_login_and_models_and_is_kept(read, run):
    refreshed = by_id(read("refresh", "work"))["work"]
    kept = by_id(read("list"))["work"]

    assert ("ready", "2.1.197", "ann@example.com (max)") == (
        refreshed["status"]["state"],
        refreshed["version"],
        refreshed["account"],
    )
    assert refreshed == kept
    assert ["opus"] == [one["id"] for one in read("show", "work")["models"]]
    assert b"ready" in run("list").stdout
    assert b"opus" in run("models", "work").stdout


def test_codex_is_asked_without_a_session_and_for_the_methods_it_has(read):
    """A thread would be a session of nobody's: the stand-in knows no request for one."""
    runtime = by_id(read("refresh", "other"))["other"]

    assert ("ready", "0.169.0", "ann@example.com (plus)") == (
        runtime["status"]["state"],
        runtime["version"],
        runtime["account"],
    )
    assert ["cli_runtime.methods_missing"] == [one["code"] for one in runtime["diagnostics"]]
    assert ["gpt-5.5"] == [one["id"] for one in read("models", "other")["models"]]


def test_an_agent_that_opens_a_session_is_logged_in_wherever_its_key_lies(read, machine, config, home):
    (config / "providers.toml").write_text("[work]\ncommand = 'opencode'\nargs = ['run']\n")
    (home / "bin" / "opencode").write_text(OPENCODE.replace("/usr/bin/env python3", sys.executable))
    (home / "bin" / "opencode").chmod(0o755)

    runtime = by_id(read("refresh", "work"))["work"]

    assert ("ready", "1.18.33") == (runtime["status"]["state"], runtime["version"])


def test_a_cli_that_may_lose_its_sessions_says_so(run, config):
    (config / "providers.toml").write_text("[work]\ncommand = 'gemini'\n")

    assert "work: it does not always find a session again" in run("list").stdout.decode()


def test_a_version_that_was_not_tested_is_told(read):
    runtime = by_id(read("refresh", "other", SCRIPTED="newer"))["other"]

    assert "ready" == runtime["status"]["state"]
    assert "cli_runtime.version_untested" in [one["code"] for one in runtime["diagnostics"]]


def test_models_are_asked_for_where_they_never_were(read):
    assert ["opus"] == [one["id"] for one in read("models", "work")["models"]]


def test_arguments_of_an_account_that_have_no_place_are_told_without_values(run):
    shown = run("show", "work").stdout.decode()

    assert "--settings" in shown
    assert "CANARY" not in shown


@pytest.mark.parametrize(
    ("mood", "state"), [("out", "needs_auth"), ("old", "unsupported_version"), ("gone", "error"), ("silent", "error")]
)
def test_each_way_to_fail_is_a_status_of_its_own(read, config, mood, state):
    (config / "config.toml").write_text("[runtimes.work]\nstartup_timeout_ms = 1500\n")

    runtime = by_id(read("refresh", "work", SCRIPTED=mood))["work"]

    assert state == runtime["status"]["state"]
    assert [one for one in runtime["diagnostics"] if one["code"].startswith("claude_probe.")]


def test_a_missing_program_and_a_runtime_that_is_off_have_a_status_without_a_start(read, config):
    (config / "config.toml").write_text(
        '[runtimes.gone]\nkind = "codex"\nprogram = "/nowhere/codex"\n[runtimes.other]\nenabled = false\n'
    )

    runtimes = by_id(read("list"))

    assert {"state": "missing_binary", "binary_path": "/nowhere/codex"} == runtimes["gone"]["status"]
    assert ({"state": "disabled"}, []) == (runtimes["other"]["status"], runtimes["other"]["diagnostics"])
    assert "missing_binary" == by_id(read("refresh", "gone"))["gone"]["status"]["state"]


def test_a_runtime_without_models_is_an_error_that_says_why(run, config):
    (config / "config.toml").write_text("[runtimes.work]\nenabled = false\n")

    done = run("models", "work")

    assert 1 == done.returncode
    assert b"has no models: disabled" in done.stderr


def test_models_of_ones_own_are_there_though_the_runtime_is_off(read, config):
    (config / "config.toml").write_text('[runtimes.work]\nenabled = false\ncustom_models = ["own"]\n')

    (model,) = read("models", "work")["models"]

    assert ("own", True) == (model["id"], model["is_custom"])


def test_an_unknown_runtime_names_the_nearest(run):
    done = run("show", "wrk")

    assert (1, b"") == (done.returncode, done.stdout)
    assert b"did you mean 'work'?" in done.stderr


def test_what_is_wrong_with_an_entry_is_told_and_the_others_work(run, config):
    (config / "config.toml").write_text('[runtimes.x]\nkind = "codex"\nargs = ["--listen", "CANARY"]\n')

    done = run("list")

    assert 0 == done.returncode
    assert b"[runtimes.x]: argument 1 is --listen" in done.stderr
    assert b"CANARY" not in done.stderr
    assert b"work" in done.stdout
    assert 1 == run("models", "work").stderr.count(b"[runtimes.x]")


def test_a_proxys_password_is_nowhere(run, read, config):
    (config / "config.toml").write_text('[runtimes.work]\nproxy = "http://ann:CANARY@127.0.0.1:9"\n')
    run("refresh", "work", SCRIPTED="gone")

    shown = f"{run('show', 'work').stdout}{run('list').stdout}{read('show', 'work')}"

    assert "http://•••@127.0.0.1:9" == read("show", "work")["proxy_url"]
    assert "CANARY" not in shown


def test_a_shadow_home_is_made_before_the_cli_starts(read, home, config):
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{}")
    (config / "config.toml").write_text('[runtimes.second]\nkind = "claude"\nshadow_home = "~/.claude-second"\n')

    runtime = by_id(read("refresh", "second"))["second"]

    assert "ready" == runtime["status"]["state"]
    assert str(home / ".claude-second") == runtime["shadow_home_path"]
    assert home / ".claude" / "settings.json" == (home / ".claude-second" / "settings.json").readlink()


def test_a_shadow_home_that_cannot_be_made_is_told(read, home, config):
    (config / "config.toml").write_text(
        '[runtimes.second]\nkind = "claude"\nhome = "~/.claude"\nshadow_home = "~/.claude"\n'
    )

    runtime = by_id(read("refresh", "second"))["second"]

    assert "error" == runtime["status"]["state"]
    assert "claude_probe.shadow_home_failed" in [one["code"] for one in runtime["diagnostics"]]


def test_logout_and_login_by_the_clis_own_words(run, read, talk):
    read("refresh", "work")

    assert "needs_auth" == read("logout", "work")["status"]["state"]
    code, shown = talk([("Login successful", "")], "runtime", "login", "work")

    assert 0 == code, shown
    assert "work: ready: ann@example.com" in shown
    assert "ready" == read("show", "work")["status"]["state"]


def test_a_login_needs_a_terminal(run):
    done = run("login", "work")

    assert 1 == done.returncode
    assert b"a login needs a terminal" in done.stderr


def test_without_accounts_it_says_how_to_get_one(agents, home):
    done = agents("runtime", "list")

    assert 0 == done.returncode
    assert b"no runtimes" in done.stdout
