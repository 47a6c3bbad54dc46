"""From an empty home to answers of two accounts each: the real CLIs, but for their vendors' pages to log in at."""

import json
import re
import shutil
import time

import pexpect
import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]

# Only the login is a stand-in: the real one needs a browser and the vendor.
_LOGIN = """#!/bin/sh
case "$*" in "auth login"|login)
    printf 'Who? '
    read -r who
    cp -R "LOGINS/.$who/." "${VARIABLE}"
    exit;;
esac
exec REAL "$@"
"""
_VARIABLE = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
_FIRST_QUOTA_S = 10.0  # what the budget allows beside the login itself


@pytest.fixture
def machine(world, clis, api, tmp_path):
    """A machine where both CLIs are installed and nothing is configured; returns its environment."""
    logins = tmp_path / "logins"
    variables = {}
    for home in world.accounts.values():
        variables |= home.ask_at(api.url)
    shutil.rmtree(world.home / ".config")
    logins.mkdir()
    for name in world.accounts:
        (world.home / f".{name}").rename(logins / f".{name}")
    (tmp_path / "bin").mkdir()
    for cli, variable in _VARIABLE.items():
        del variables[variable]
        text = _LOGIN.replace("LOGINS", str(logins)).replace("VARIABLE", variable).replace("REAL", str(clis / cli))
        (tmp_path / "bin" / cli).write_text(text)
        (tmp_path / "bin" / cli).chmod(0o755)
    usage = {"ANTHROPIC_USAGE_BASE_URL": api.url, "CHATGPT_USAGE_BASE_URL": api.url}
    environ = world.environment() | variables | usage
    return environ | {"PATH": f"{tmp_path}/bin:{environ['PATH']}", "TERM": "xterm-256color"}


def add(world, machine, cli, name):
    """Add an account in a terminal; return the seconds from the login's end to the first quota, and to the answer."""
    command, *words = world.command("account", "add", cli, name)
    agents = pexpect.spawn(
        command, words, env=machine, cwd=str(world.project), encoding="utf-8", timeout=60, dimensions=(50, 160)
    )
    agents.delayafterclose = agents.delayafterterminate = agents.ptyproc.delayafterclose = 0
    agents.expect_exact("Who? ")
    agents.send(f"{name}\r")
    begun = time.monotonic()
    agents.expect("logged in[^\r]*")
    agents.expect_exact("quota: weekly 12 % used")
    to_quota = time.monotonic() - begun
    agents.expect_exact("It joins [")
    agents.send("both\r")
    agents.expect_exact("(y/n) ")
    agents.send("y\r")
    agents.expect(f"{name} answers in [^\r]*")
    agents.expect(pexpect.EOF)
    agents.close()
    assert 0 == agents.exitstatus
    return to_quota, time.monotonic() - begun


def test_an_empty_home_comes_to_a_pool_of_four_that_answer(world, machine, api, record_property):
    names = [(cli, f"{cli}-{number}") for cli in _VARIABLE for number in ("one", "two")]
    took = {name: add(world, machine, cli, name) for cli, name in names}
    record_property("seconds_to_quota_and_answer", json.dumps(took))

    assert sorted(name for _, name in names) == sorted(set(api.asked()))
    assert max(to_quota for to_quota, _ in took.values()) < _FIRST_QUOTA_S
    config = world.home / ".config" / "oulipoly-agent-runner"
    assert [name for _, name in names] == re.findall(r'name = "(.*)"', (config / "models" / "both.toml").read_text())


def test_a_key_of_ones_own_answers_and_stands_nowhere_else(world, machine, api, tmp_path):
    key = tmp_path / "key"
    key.write_text("sk-ant-api03-keyed\n")
    command, *words = world.command("account", "add", "claude", "keyed", "--api-key-file", key, "--yes")
    agents = pexpect.spawn(command, words, env=machine, cwd=str(world.project), encoding="utf-8", timeout=60)
    agents.expect("logged in: API key")
    agents.expect("keyed answers in [^\r]*")
    agents.expect(pexpect.EOF)
    agents.close()

    assert ["keyed"] == api.asked()
    assert not [path for path in (world.home / ".config").rglob("*.toml") if "sk-ant" in path.read_text()]
