"""The real CLIs in a pane: talked to, their viewer killed and another attached, talked to again."""

import contextlib
import json
import os
import re
import signal
import time

import pexpect
import pytest
from loopback.extension import CALLS, add_extension

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.interactive import terminals

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]

BOTH = pytest.mark.parametrize("cli", ["claude", "codex"])
_WELCOME = {"claude": "Try |shortcuts", "codex": "shortcuts"}  # what each shows first (seen 2026-11)
_PAUSE_S = 0.05


@pytest.fixture
def talking(world, api):
    """Have both CLIs past their welcome, with an account that can be talked to; every terminal ends with the test."""
    trusted = {"hasTrustDialogAccepted": True, "projectOnboardingSeenCount": 9}
    seen = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(world.project): trusted}}
    (world.home / ".claude-one" / ".claude.json").write_text(json.dumps(seen))
    (world.home / ".codex-one" / "auth.json").unlink()  # a login's workspace would be asked of its vendor
    config = world.home / ".codex-one" / "config.toml"
    config.write_text(config.read_text().replace("requires_openai_auth = true", 'env_key = "LOOPBACK_KEY"'))
    providers = world.home / ".config" / "oulipoly-agent-runner" / "providers.toml"
    text = re.sub(r"^(prompt_mode = .*)$", r"\1\ninteractive_args = []", providers.read_text(), flags=re.MULTILINE)
    providers.write_text(text.replace("\nCODEX_HOME", '\nLOOPBACK_KEY = "sk-loopback"\nCODEX_HOME'))
    paths = from_environment(world.environment())
    yield paths
    for one in terminals.survey(paths, SystemClock()).living:
        with contextlib.suppress(OSError):
            os.kill(one.host_pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while terminals.survey(paths, SystemClock()).living and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


@pytest.fixture
def shown(world):
    """Attach to a terminal in a real one."""
    opened = []

    def show(*words):
        cli = pexpect.spawn(
            world.command()[0],
            [*world.command(*words)[1:]],
            env=world.environment() | {"TERM": "xterm-256color"},
            cwd=str(world.project),
            encoding="utf-8",
            timeout=60,
            dimensions=(30, 100),
        )
        cli.delayafterclose = cli.delayafterterminate = cli.ptyproc.delayafterclose = 0
        opened.append(cli)
        return cli

    yield show
    for cli in opened:
        cli.close(force=True)


def ask(api, cli, prompt):
    """Type a prompt and see its answer."""
    calls = len(api.calls)
    cli.send(prompt)
    cli.expect(re.escape(prompt.rpartition(" ")[2]))
    time.sleep(0.5)  # both CLIs take what comes faster than hands for a paste, and its Enter for a new line
    cli.send("\r")
    cli.expect("heard: ")
    assert any(prompt in call.prompt for call in api.calls[calls:])


@BOTH
def test_cli_in_a_terminal_outlives_who_showed_it(world, api, talking, shown, cli):
    done = world.run("repl", f"{cli}-one", "--detach")
    assert 0 == done.exit_code, done.stderr
    identity = done.stdout.strip()
    first = shown("attach", identity)
    first.expect(_WELCOME[cli])
    time.sleep(3)
    ask(api, first, "the word is turtle")
    first.kill(signal.SIGKILL)
    first.wait()

    second = shown("attach", identity)
    second.expect("turtle")
    ask(api, second, "another word")

    assert [identity] == [one.id for one in terminals.survey(talking, SystemClock()).living]


@BOTH
def test_cli_in_a_terminal_asks_and_calls_an_extensions_tool(world, api, talking, shown, plan, cli):
    add_extension(world)
    world.run("ext", "enable", "weather", "--allow")
    api.plans[f"{cli}-one"] = plan(tool=CALLS[cli]("forecast", {"city": "Rome"}))
    if cli == "codex":  # by its key
        api.plans["sk-loopback"] = api.plans["codex-one"]
    identity = world.run("repl", f"{cli}-one", "--detach").stdout.strip()
    screen = shown("attach", identity)
    screen.expect(_WELCOME[cli])
    time.sleep(3)

    screen.send("the weather please")
    time.sleep(0.5)
    screen.send("\r")
    screen.expect({"claude": "Yes", "codex": "Allow"}[cli])  # of its dialog
    time.sleep(0.5)
    screen.send("\r")

    screen.expect("sunny in Rome")
