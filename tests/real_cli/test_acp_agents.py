"""Agents that are known by the Agent Client Protocol alone: a session goes on after its process was closed."""

import json
import os
from pathlib import Path

import pytest
from loopback.talk import Talk, alive, told_of
from loopback.world import World

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]


def variables(program, world, url):
    """Return those with which an agent works in the world's home and asks the model API at a URL."""
    match program:
        case "qwen":
            key = {"OPENAI_API_KEY": "qwen-one", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "first"}
            return key | {"HTTP_PROXY": "", "HTTPS_PROXY": ""}  # it would ask a proxy for 127.0.0.1 too
        case _:
            home = {"CLAUDE_CONFIG_DIR": str(world.home / ".claude")}
            off = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}
            return home | off | {"ANTHROPIC_API_KEY": "claude-one", "ANTHROPIC_BASE_URL": url}


@pytest.mark.parametrize(("program", "words"), [("qwen", ["--acp"]), ("claude-code-acp", [])])
def test_a_session_goes_on_after_its_process_was_closed(tmp_path, clis, api, program, words):
    if not (clis / program).exists():
        pytest.skip(f"{program} is not installed in {clis}")
    world = World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url, ())
    lines = [f"{name} = {json.dumps(value)}" for name, value in variables(program, world, api.url).items()]
    head = f'[runtimes.agent]\nkind = "acp"\nprogram = {json.dumps(str(clis / program))}\nstart_words = {words}\n'
    settings = world.home / ".config" / "oulipoly-agent-runner" / "config.toml"
    settings.write_text(head + "[runtimes.agent.env]\n" + "\n".join(lines) + "\n")
    talk = Talk(world, "agent")
    try:
        words = ("--runtime", "agent", "--prompt", "the word is turtle", "--wait", "--json")
        first = told_of(world.run("session", "new", *words))
        talk.session_id = first["session_id"]
        talk.close()
        second = talk.send("and then?")
    finally:
        talk.order("cancel")
        talk.end()

    assert ("completed", "completed") == (first["status"], second["status"])
    assert "turtle" in str(next(call for call in api.calls if "and then?" in call.prompt).said)
    assert {} == alive(world)
