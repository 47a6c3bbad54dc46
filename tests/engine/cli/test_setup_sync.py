"""`setup sync` and `setup memory`: shown first, asked, written, taken back; nothing is replaced unasked."""

import json
from pathlib import Path

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.setup.memory import Memory

SECRET = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def home():
    home = Path.home()
    skill = home / ".claude/skills/commit"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("Do it.\n")
    github = {"command": "npx", "env": {"GITHUB_TOKEN": SECRET}}
    events = {"type": "sse", "url": "https://x/sse"}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"github": github, "events": events}}))
    return home


def test_all_that_can_be_is_copied_and_taken_back(home, capfd):
    assert 0 == main(["setup", "sync", "--from", "claude", "--to", "codex", "--yes"])

    said = capfd.readouterr()
    assert ["Copied the skill commit from claude to codex", "Copied the MCP server github from claude to codex"] == [
        line for line in said.out.splitlines() if line.startswith("Copied")
    ]
    assert "Left out: MCP server events for codex: Codex cannot use a server by server-sent events" in said.err
    assert SECRET not in said.out + said.err
    assert SECRET in (home / ".codex/config.toml").read_text()
    assert 0 == main(["account", "undo", "--yes"])
    assert [] == [path for path in (home / ".codex").rglob("*") if path.is_file()]


def test_what_differs_is_replaced_only_when_that_is_said(home, capfd):
    mine = home / ".codex/config.toml"
    mine.parent.mkdir()
    mine.write_text('[mcp_servers.github]\ncommand = "mine"\n')
    words = ["setup", "sync", "mcp", "github", "--from", "claude", "--to", "codex", "--yes"]

    assert (1, '[mcp_servers.github]\ncommand = "mine"\n') == (main(words), mine.read_text())
    said = capfd.readouterr()
    assert '-command = "mine"' in said.out
    assert "codex has another MCP server github: --replace replaces it; nothing was changed" in said.err
    assert 0 == main([*words, "--replace"])
    assert 'command = "npx"' in mine.read_text()
    assert 0 == main(words)
    assert "codex has the MCP server github already" in capfd.readouterr().out


def test_nothing_is_written_where_nobody_can_be_asked_or_it_is_a_rehearsal(home, capfd):
    words = ["setup", "sync", "skill", "--from", "claude", "--to", "gemini"]

    assert [2, 0] == [main(words), main([*words, "--dry-run"])]
    assert 2 == capfd.readouterr().out.count("+Do it.")
    assert not (home / ".gemini").exists()


def test_list_is_one_document_without_secrets(home, capfd):
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{")

    assert 0 == main(["setup", "sync", "--json"])

    said = capfd.readouterr().out
    found = {one["name"]: one for one in json.loads(said)["homes"]}
    assert (["commit"], {"github", "events"}) == (found["claude"]["skills"], set(found["claude"]["mcp_servers"]))
    assert "settings.json, line 1, column 2: this is not JSON" in found["gemini"]["problems"][0]
    assert SECRET not in said


def test_memory_is_shown_and_cleared(capfd):
    engine = Engine()
    with engine._home.lend_store() as store:
        memory = Memory(store, engine._home.now())
        memory.update("cli", "claude", {"plan": "max"})
        memory.update("model", "opus", {}, [("claude", "runs on")])
    engine.close()

    assert 0 == main(["setup", "memory"])
    assert "model:opus  {}; runs on cli:claude" in capfd.readouterr().out.splitlines()
    assert 0 == main(["setup", "memory", "--json"])
    found = json.loads(capfd.readouterr().out)
    assert [{"from": "model:opus", "to": "cli:claude", "type": "runs on"}] == found["edges"]
    assert [2, 0] == [main(["setup", "memory", "--clear"]), main(["setup", "memory", "--clear", "--yes"])]
    assert 0 == main(["setup", "memory"])
    assert "the set-up agent remembers nothing\n" == capfd.readouterr().out.split("forgotten: 2\n")[1]


def test_list_shows_only_what_there_is_and_how_to_go_on(home, capfd):
    assert 0 == main(["setup", "sync"])
    said = capfd.readouterr().out.splitlines()
    assert [f"claude: {home}/.claude/skills", "  skills: commit", "  MCP servers: events, github"] == said[:3]
    assert ["Nothing in codex, gemini, opencode.", "Copy: agents setup sync --from claude --to codex"] == said[3:]


def test_where_nothing_is_there_it_says_how_to_begin(capfd):
    assert 0 == main(["setup", "sync"])
    said = capfd.readouterr().out.splitlines()
    assert "No CLI has a skill or an MCP server yet." == said[0]
    assert f"Put a skill into {Path.home()}/.claude/skills, or add an MCP server with `claude mcp add`" in said[1]
    assert 2 == len(said)
