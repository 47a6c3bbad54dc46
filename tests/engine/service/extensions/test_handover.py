"""What each CLI gets of the extensions' MCP servers when it is started, and when it gets nothing."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.setup.mcp import Server
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.service.extensions.handover import HandOver

SERVER = Server("local", ("/usr/bin/agents", "ext", "serve"), {"HOME": "/home/ann", "RUN": "${RUN}"})


@pytest.fixture
def given(tmp_path):
    """Return what an account's CLI gets of one server, `agents`."""

    def given(command, words=(), env=None, *, asks_nobody=False):
        return HandOver({"agents": SERVER}, tmp_path, tmp_path / "linked").give(
            Account("a", command=command), words, env or {}, asks_nobody=asks_nobody
        )

    return given


def test_claude_gets_servers_behind_an_option(given):
    (word,) = given("/opt/bin/claude").words
    option, _, text = word.partition("=")

    entry = json.loads(text)["mcpServers"]["agents"]
    assert "--mcp-config" == option
    assert ("/usr/bin/agents", ["ext", "serve"]) == (entry["command"], entry["args"])
    assert {"HOME": "/home/ann", "RUN": "${RUN}"} == entry["env"]


def test_codex_gets_each_server_as_a_key(given):
    option, assignment = given("codex").words

    key, _, value = assignment.partition("=")
    table = tomllib.loads(f"x={value}")["x"]
    assert ("-c", "mcp_servers.agents") == (option, key)
    assert {"command": "/usr/bin/agents", "args": ["ext", "serve"]}.items() <= table.items()
    assert ({"HOME": "/home/ann"}, ["RUN"]) == (table["env"], table["env_vars"])


def test_opencode_gets_servers_beside_what_its_variable_says_already(given):
    own = json.dumps({"model": "m", "mcp": {"mine": {"type": "local", "command": ["x"]}}})

    handed = given("opencode", env={"OPENCODE_CONFIG_CONTENT": own, "RUN": '{"id": 7}'})

    document = json.loads(handed.environment["OPENCODE_CONFIG_CONTENT"])
    assert ("m", {"mine", "agents"}) == (document["model"], set(document["mcp"]))
    assert {"HOME": "/home/ann", "RUN": '{"id": 7}'} == document["mcp"]["agents"]["environment"]


@pytest.mark.parametrize(
    ("command", "words", "env"),
    [
        ("claude", ("-p", "--strict-mcp-config"), {}),
        ("claude", ("--bare",), {}),
        ("codex", ("exec", "-c", "mcp_servers={}"), {}),
        ("codex", ("exec", "--config=mcp_servers={}"), {}),
        ("opencode", ("run",), {"OPENCODE_CONFIG_CONTENT": "{// a comment\n}"}),
        ("gemini", ("-p", "--extensions=mine"), {}),
        ("gemini", ("--sandbox",), {}),
        ("gemini", (), {"GEMINI_SANDBOX": "docker"}),
        ("/opt/our-wrapper", (), {}),
    ],
)
def test_cli_that_is_told_its_servers_or_is_not_known_gets_nothing(given, command, words, env):
    handed = given(command, words, env, asks_nobody=True)

    assert ((), {}) == (handed.words, dict(handed.environment))


def test_server_of_the_users_own_keeps_its_name(given, tmp_path):
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"agents": {"command": "mine"}}}))

    handed = given("claude", asks_nobody=True)

    assert '"agents-agents":' in handed.words[0]
    assert "--allowedTools=mcp__agents-agents" == handed.words[1]


def test_broken_file_of_the_users_own_does_not_keep_a_cli_from_starting(given, tmp_path):
    (tmp_path / ".claude.json").write_text("{")

    assert '"agents":' in given("claude").words[0]


def test_tools_are_approved_only_where_nobody_could_be_asked(given):
    approved = 'mcp_servers.agents.default_tools_approval_mode="approve"'

    assert approved in given("codex", asks_nobody=True).words
    assert approved not in given("codex").words


def test_agents_of_the_client_protocol_get_servers_in_their_session(tmp_path):
    opening, env = HandOver({"agents": SERVER}, tmp_path, tmp_path).give_session(
        Opening("/w", "n"), None, "acp", {"RUN": "7"}
    )

    (server,) = opening.servers
    assert ("agents", SERVER.command, {"HOME": "/home/ann", "RUN": "7"}) == (
        server.name,
        server.command,
        server.environment,
    )
    assert {"RUN": "7"} == env


@pytest.fixture
def gemini(given, tmp_path):
    """Start gemini with what it gets, and return its folder of links; the account's own is `.gemini`."""
    folder = tmp_path / ".gemini"
    (folder / "extensions" / "mine").mkdir(parents=True)
    (folder / "settings.json").write_text("{}")

    def start(**options):
        return Path(given("gemini", **options).environment["GEMINI_CLI_HOME"]) / ".gemini"

    return start


def test_gemini_finds_our_extension_among_links_to_the_accounts_home(gemini, tmp_path):
    linked = gemini()

    ours = json.loads((linked / "extensions/oulipoly-agent-runner/gemini-extension.json").read_text())
    assert "/usr/bin/agents" == ours["mcpServers"]["agents"]["command"]
    assert tmp_path / ".gemini/settings.json" == (linked / "settings.json").readlink()
    assert (linked / "extensions" / "mine").is_dir()
    assert [] == list((linked / "policies").iterdir())
    assert {"extensions", "history", "policies", "settings.json", "tmp"} == {
        each.name for each in (tmp_path / ".gemini").iterdir()
    }


def test_gemini_that_nobody_sits_before_needs_no_approval_of_ours_alone(gemini):
    rule = tomllib.loads((gemini(asks_nobody=True) / "policies/oulipoly-agent-runner.toml").read_text())["rule"]

    assert [("agents", "allow")] == [(each["mcpName"], each["decision"]) for each in rule]


def test_policies_of_the_users_own_are_files_beside_ours_for_gemini_overlooks_links(gemini, tmp_path):
    policies = tmp_path / ".gemini" / "policies"
    policies.mkdir()
    (policies / "mine.toml").write_text("deny")
    (policies / "former.toml").write_text("deny")
    copies = gemini(asks_nobody=True) / "policies"
    before = {path.name for path in copies.iterdir() if not path.is_symlink()}
    (policies / "mine.toml").write_text("allow")
    (policies / "former.toml").unlink()

    gemini(asks_nobody=True)

    assert {"former.toml", "mine.toml", "oulipoly-agent-runner.toml"} == before
    assert {"mine.toml", "oulipoly-agent-runner.toml"} == {path.name for path in copies.iterdir()}
    assert ("allow", ["mine.toml"]) == ((copies / "mine.toml").read_text(), [path.name for path in policies.iterdir()])


def test_login_of_gemini_goes_through_a_link_into_the_accounts_home(gemini, tmp_path):
    (gemini() / "oauth_creds.json").write_text("a token")

    assert "a token" == (tmp_path / ".gemini/oauth_creds.json").read_text()


def test_what_gemini_put_in_place_of_a_link_goes_home_at_the_next_start(gemini, tmp_path):
    folder = tmp_path / ".gemini"
    linked = gemini()
    (folder / "projects.json").write_text("old")
    os.utime(folder / "projects.json", (1, 1))
    (linked / "projects.json").write_text("new")
    (linked / "extensions" / "fresh").mkdir()
    (linked / "projects.json.1.tmp").write_text("half")

    gemini()

    assert ("new", True) == ((folder / "projects.json").read_text(), (linked / "projects.json").is_symlink())
    assert (folder / "extensions" / "fresh").is_dir()
    assert (linked / "extensions" / "fresh").is_symlink()
    assert not (folder / "projects.json.1.tmp").exists()


def test_what_gemini_made_in_a_terminal_is_there_in_a_one_shot(gemini, tmp_path):
    terminal = gemini()
    (terminal / "projects.json").write_text("new")
    (terminal / "extensions" / "fresh").mkdir()
    (terminal / "policies" / "auto-saved.toml").write_text("allow")

    one_shot = gemini(asks_nobody=True)
    gemini()

    assert ("new", True) == ((one_shot / "projects.json").read_text(), (one_shot / "extensions" / "fresh").is_dir())
    assert "allow" == (one_shot / "policies" / "auto-saved.toml").read_text()
    assert ["auto-saved.toml"] == [path.name for path in (tmp_path / ".gemini" / "policies").iterdir()]


def test_newer_file_of_the_accounts_home_stays(gemini, tmp_path):
    folder = tmp_path / ".gemini"
    linked = gemini()
    (linked / "projects.json").write_text("ours")
    os.utime(linked / "projects.json", (1, 1))
    (folder / "projects.json").write_text("the user's")

    gemini()

    assert "the user's" == (linked / "projects.json").read_text()


@pytest.mark.parametrize("settings", ['{"tools": {"sandbox": true}}', "{"])
def test_gemini_in_a_container_or_with_broken_settings_stays_in_its_home(given, gemini, tmp_path, settings):
    (tmp_path / ".gemini/settings.json").write_text(settings)

    assert {} == dict(given("gemini").environment)


def test_gemini_inside_of_gemini_stays_in_the_home_of_links(given, gemini, tmp_path):
    home = str(gemini().parent)

    assert {} == dict(given("gemini", env={"GEMINI_CLI_HOME": home}).environment)
    assert 1 == len(list((tmp_path / "linked").iterdir()))


def test_gemini_passes_a_python_path_that_it_would_refuse_by_env(given, tmp_path):
    server = Server("local", ("/usr/bin/agents",), {"PYTHONPATH": "/src"})
    handed = HandOver({"agents": server}, tmp_path, tmp_path / "linked").give(
        Account("a", command="gemini"), (), {}, asks_nobody=False
    )

    (file,) = Path(handed.environment["GEMINI_CLI_HOME"]).rglob("gemini-extension.json")
    entry = json.loads(file.read_text())["mcpServers"]["agents"]
    assert ("env", ["PYTHONPATH=/src", "/usr/bin/agents"]) == (entry["command"], entry["args"])
