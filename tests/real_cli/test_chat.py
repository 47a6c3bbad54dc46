"""`chat` with the real CLIs: each answers, takes what is asked of it in its own words, or is refused by name."""

import json
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what lives is looked up in /proc"),
]


def chat(talk, *words):
    return talk.world.run("chat", *words)


def last_line(ran):
    document = json.loads(ran.stdout.splitlines()[-1])
    assert "completed" == document["status"], ran
    return document


@pytest.mark.parametrize("cli", ["claude", "codex", "opencode", "gemini"])
def test_an_answer_comes_and_the_session_goes_on(talk, cli):
    first = last_line(chat(talk, "-p", f"{cli}-one", "--mode", "json", "hello"))
    talk.session_id = first["session_id"]
    second = chat(talk, "-c", "--print", "again")

    assert ("hello" in first["reply"], True) == (True, "again" in second.stdout), second


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_thinking_and_a_system_prompt_are_taken(talk, api, cli, tmp_path):
    (tmp_path / "more").write_text('Say "no".\n')
    words = ["--thinking", "thorough", "--append-system-prompt", tmp_path / "more"]
    ran = chat(talk, "-p", f"{cli}-one", "--mode", "json", *words, "hello")
    talk.session_id = last_line(ran)["session_id"]

    assert "hello" in api.calls[-1].prompt


@pytest.mark.parametrize(("cli", "temperature"), [("claude", None), ("opencode", 0.25)])
def test_limits_of_settings_reach_the_api(talk, api, cli, temperature):
    limits = ["--set", "max_response_tokens=1234", "--set", "default_temperature=0.25"]
    ran = talk.world.run(*limits, "chat", "-p", f"{cli}-one", "--mode", "json", "hello")
    talk.session_id = last_line(ran)["session_id"]
    call = next(call for call in api.calls if call.tools)

    assert 1234 == call.most_tokens
    assert temperature in (None, call.temperature)  # claude takes none


@pytest.mark.parametrize("cli", ["claude"])
def test_claude_has_these_tools_alone_and_keeps_no_session(talk, api, cli):
    words = ["--tools", "Read,Grep", "--thinking", "none", "--no-session"]
    ran = chat(talk, "-p", f"{cli}-one", *words, "the walrus")

    assert (0, {"Read", "Grep"}) == (ran.exit_code, {*api.calls[-1].tools}), ran
    assert [] == [path for path in talk.world.home.rglob("*.jsonl") if "walrus" in path.read_text()]
    assert [] == json.loads(talk.world.run("session", "list", "--live", "--json").stdout)["sessions"]


@pytest.mark.parametrize("cli", ["codex"])
def test_codex_keeps_no_session(talk, cli):
    ran = chat(talk, "-p", f"{cli}-one", "--no-session", "the walrus")

    assert 0 == ran.exit_code, ran
    assert [] == [path for path in talk.world.home.rglob("*.jsonl") if "walrus" in path.read_text()]
