"""The tools of an extension reach every CLI of a pool: the model calls one, and its answer comes back to the model."""

import os
import re
import time

import pexpect
import pytest
from loopback.extension import CALLS, SERVER_CALLS, add_extension, add_server
from loopback.wire import ToolCall
from loopback.world import World

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]


@pytest.fixture
def cli_world(request, tmp_path, clis, api):
    """A machine of one CLI, with an extension that its user has not allowed yet."""
    world = World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url, (request.param,))
    add_extension(world)
    world.cli = request.param
    return world


@pytest.mark.parametrize("cli_world", ["claude", "codex", "opencode", "gemini"], indirect=True)
def test_model_calls_an_extensions_tool_in_a_one_shot(cli_world, api, plan):
    cli, account = cli_world.cli, f"{cli_world.cli}-one"
    cli_world.run("ext", "enable", "weather", "--allow")
    api.plans[account] = plan(tool=CALLS[cli]("forecast", {"city": "Rome"}))

    ran = cli_world.run("-m", account, stdin=b"What is the weather in Rome?")

    assert "sunny in Rome" in ran.answer, ran.stderr


@pytest.mark.parametrize("cli_world", ["gemini"], indirect=True)
def test_gemini_keeps_its_sessions_and_settings_in_the_accounts_home(cli_world, api, plan):
    folder = cli_world.home / ".gemini-one" / ".gemini"
    settings = folder / "settings.json"
    before = settings.read_text()
    cli_world.run("ext", "enable", "weather", "--allow")

    cli_world.run("-m", "gemini-one", stdin=b"hello")
    tools = {name for call in api.calls for name in call.tools}
    bare = cli_world.run_bare_words("gemini-one", "--list-sessions", "--skip-trust")

    assert "mcp_agents_forecast" in tools
    assert before == settings.read_text()
    assert 1 == len(cli_world.accounts["gemini-one"].sessions())
    assert "project (1)" in bare
    assert not [path for path in folder.rglob("*") if path.is_symlink() or "oulipoly" in path.name]
    assert not (folder / "extensions").exists()


@pytest.mark.parametrize("cli_world", ["gemini"], indirect=True)
def test_gemini_in_a_terminal_asks_and_calls_an_extensions_tool(cli_world, api, plan):
    cli_world.run("ext", "enable", "weather", "--allow")
    providers = cli_world.home / ".config" / "oulipoly-agent-runner" / "providers.toml"
    text = providers.read_text()
    providers.write_text(re.sub(r"^(prompt_mode = .*)$", r"\1\ninteractive_args = []", text, flags=re.MULTILINE))
    api.plans["gemini-one"] = plan(tool=CALLS["gemini"]("forecast", {"city": "Rome"}))
    command = cli_world.command("repl", "gemini-one")
    env = cli_world.environment() | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    screen = pexpect.spawn(
        command[0], command[1:], env=env, cwd=str(cli_world.project), encoding="utf-8", timeout=45, dimensions=(40, 120)
    )
    try:
        screen.expect("Type your message")
        time.sleep(3)
        screen.send("the weather please")
        time.sleep(0.5)
        screen.send("\r")
        screen.expect("Allow once|Allow execution")
        time.sleep(0.5)
        screen.send("\r")
        screen.expect("sunny in Rome")
    finally:
        screen.close(force=True)
    assert 1 == len(cli_world.accounts["gemini-one"].sessions())


@pytest.mark.parametrize("cli_world", ["claude", "codex", "opencode", "gemini"], indirect=True)
def test_model_reads_an_extensions_skill(cli_world, api, plan):
    cli, account = cli_world.cli, f"{cli_world.cli}-one"
    cli_world.run("ext", "enable", "weather", "--allow")
    api.plans[account] = plan(tool=CALLS[cli]("skill", {"name": "umbrella"}))

    assert "Look at the sky." in cli_world.run("-m", account, stdin=b"Shall I take one?").answer


@pytest.mark.parametrize(
    ("cli_world", "approval"),
    [
        ("claude", "--allowedTools=mcp__stations"),
        ("codex", "--dangerously-bypass-approvals-and-sandbox"),
        ("opencode", ""),
        ("gemini", "--yolo"),
    ],
    indirect=["cli_world"],
)
def test_model_calls_a_tool_of_an_extensions_own_server(cli_world, api, plan, approval):
    cli, account = cli_world.cli, f"{cli_world.cli}-one"
    add_server(cli_world)
    cli_world.run("ext", "enable", "weather", "--allow")
    providers = cli_world.home / ".config" / "oulipoly-agent-runner" / "providers.toml"
    if approval:  # behind the verb of codex; before `-p` of gemini, which takes the next word for the prompt
        words = f'"exec", "{approval}"' if cli == "codex" else f'"{approval}", "-p"'
        providers.write_text(
            re.sub(r'^args = \["(exec|-p)"', f"args = [{words}", providers.read_text(), flags=re.MULTILINE)
        )
    api.plans[account] = plan(tool=SERVER_CALLS[cli])

    ran = cli_world.run("-m", account, stdin=b"Which stations has Rome?")

    assert "Termini" in ran.answer, ran.stderr


@pytest.mark.parametrize("cli_world", ["gemini"], indirect=True)
def test_policies_of_the_users_own_count_in_one_shots(cli_world, api, plan):
    folder = cli_world.home / ".gemini-one" / ".gemini"
    (folder / "policies").mkdir()
    (folder / "policies" / "mine.toml").write_text(
        '[[rule]]\ntoolName = "list_directory"\ndecision = "deny"\npriority = 900\n'
    )
    cli_world.run("ext", "enable", "weather", "--allow")
    api.plans["gemini-one"] = plan(tool=ToolCall("list_directory", {"dir_path": "."}))

    ran = cli_world.run("-m", "gemini-one", stdin=b"What is there?")

    tools = {name for call in api.calls for name in call.tools}
    assert '"list_directory\\" not found' in ran.answer
    assert "mcp_agents_forecast" in tools
    assert "list_directory" not in tools


@pytest.mark.parametrize("cli_world", ["claude", "codex"], indirect=True)
def test_nothing_is_handed_over_without_a_grant_or_with_no_extensions(cli_world, api):
    account = f"{cli_world.cli}-one"
    cli_world.run("-m", account, stdin=b"hello")
    cli_world.run("ext", "enable", "weather", "--allow")
    cli_world.run("--no-extensions", "-m", account, stdin=b"hello")

    tools = [name for call in api.calls for name in call.tools]
    assert tools
    assert not [name for name in tools if "agents" in name or "forecast" in name]


@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "gemini"])
def test_live_session_asks_before_a_tool_is_called(talk, cli, api, plan):
    add_extension(talk.world)
    talk.world.run("ext", "enable", "weather", "--allow")
    api.plans[f"{cli}-one"] = plan(tool=CALLS[cli]("forecast", {"city": "Rome"}))

    talk.begin("What is the weather?", waits=False)
    if cli != "opencode":  # which asks before it changes files or runs commands, and for no other tool
        assert 0 == talk.reply_to(talk.wait_request(), "approve").exit_code
    talk.wait_idle()

    assert "sunny in Rome" in str(talk.events())
