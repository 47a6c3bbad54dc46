"""What each CLI gets of the extensions' MCP servers when it is started, and when it gets nothing."""

import json

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
        return HandOver({"agents": SERVER}, tmp_path).give(
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
    import tomllib  # noqa: PLC0415 - of this test alone

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
        ("gemini", ("-p",), {}),
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
    opening, env = HandOver({"agents": SERVER}, tmp_path).give_session(Opening("/w", "n"), None, "acp", {"RUN": "7"})

    (server,) = opening.servers
    assert ("agents", SERVER.command, {"HOME": "/home/ann", "RUN": "7"}) == (
        server.name,
        server.command,
        server.environment,
    )
    assert {"RUN": "7"} == env
