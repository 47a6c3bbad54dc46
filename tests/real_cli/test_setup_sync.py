"""What `setup sync` writes is what the real CLIs read."""

import json
import subprocess

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]

_VARIABLE = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
LOCAL = {"type": "stdio", "command": "sh", "args": ["-c", "exit 1"], "env": {"A": "b"}}
REMOTE = {
    "type": "http",
    "url": "http://127.0.0.1:9/mcp",
    "headers": {"X-Key": "${KEY}", "Authorization": "Bearer ${T}"},
}


def ask(world, clis, account, *words):
    """Run a real CLI in an account's home, and return what it prints."""
    cli = account.partition("-")[0]
    environ = world.environment() | {_VARIABLE[cli]: str(world.home / f".{account}")}
    done = subprocess.run(
        [clis / cli, *words], env=environ, cwd=world.project, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
    )
    return done.stdout.decode()


def give(path, servers):
    """Add servers to what a file says."""
    told = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**told, "mcpServers": servers}))


def test_servers_and_skills_go_from_claude_to_codex_and_back(world, clis):
    home = world.home / ".claude-one"
    give(home / ".claude.json", {"local": LOCAL, "remote": REMOTE})
    (home / "skills/greet").mkdir(parents=True)
    (home / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: say hello\n---\nSay hello.\n")

    for source, target in (("claude-one", "codex-one"), ("codex-one", "claude-two")):
        assert 0 == world.run("setup", "sync", "--from", source, "--to", target, "--yes").exit_code

    listed = {
        one["name"]: one["transport"] for one in json.loads(ask(world, clis, "codex-one", "mcp", "list", "--json"))
    }
    assert ("sh", ["-c", "exit 1"], {"A": "b"}) == tuple(listed["local"][key] for key in ("command", "args", "env"))
    keys = ("url", "bearer_token_env_var", "env_http_headers")
    assert (REMOTE["url"], "T", {"X-Key": "KEY"}) == tuple(listed["remote"][key] for key in keys)
    said = ask(world, clis, "claude-two", "mcp", "list")
    assert "local: sh -c exit 1" in said
    assert f"remote: {REMOTE['url']} (HTTP)" in said
    assert (home / "skills/greet/SKILL.md").read_text() == (
        (world.home / ".claude-two") / "skills/greet/SKILL.md"
    ).read_text()


def test_undo_takes_a_server_back_though_claude_has_rewritten_the_file(world, clis):
    home = world.home / ".claude-one"
    give(home / ".claude.json", {"local": LOCAL})
    assert 0 == world.run("setup", "sync", "--from", "claude-one", "--to", "claude-two", "--yes").exit_code
    ask(world, clis, "claude-two", "mcp", "add", "-s", "user", "mine", "--", "true")

    assert 0 == world.run("account", "undo", "--yes").exit_code
    assert ["mine"] == list(json.loads(((world.home / ".claude-two") / ".claude.json").read_text())["mcpServers"])
