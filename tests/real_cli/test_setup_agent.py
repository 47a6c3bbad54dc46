"""`setup run` with the real CLIs as the model: what they answer is read, and they get no tools of their own."""

import json

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_a_real_cli_serves_the_turns(world, api, plan, cli):
    pool = f"[[providers]]\nname = '{cli}-two'\n"
    turns = (
        {"actions": [{"type": "write_config", "path": "models/third.toml", "content": pool}]},
        {"actions": [{"type": "complete", "summary": "there is a third pool", "items": ["third"]}]},
    )
    api.plans[f"{cli}-one"] = plan(turns=tuple(f"Well.\n```json\n{json.dumps(turn)}\n```" for turn in turns))
    yes = {"type": "confirm", "confirm_id": "agreement-1", "confirmed": True}

    done = world.run(
        "setup", "run", "-m", f"{cli}-one", "--json", "a third pool", stdin=json.dumps(yes).encode() + b"\n"
    )

    assert done.exit_code == 0, done
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1] == {
        "event": "complete",
        "data": {"summary": "there is a third pool", "items_configured": ["third"]},
    }
    assert (world.home / ".config/oulipoly-agent-runner/models/third.toml").read_text() == pool
    # Codex's apply_patch stays; its sandbox lets it write nothing.
    harmless = {"claude": set(), "codex": {"request_user_input", "apply_patch", "tool_search"}}[cli]
    assert set() == {tool for call in api.calls for tool in call.tools} - harmless
    assert not [event for event in events if "keeps tools of its own" in json.dumps(event)]
    assert "sk-ant-" not in "".join(call.prompt for call in api.calls)
