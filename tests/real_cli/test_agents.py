"""An agent from an Agentfile on the real CLIs: run, asked, asked again, its tool run, measured, stopped and removed."""

import json
import os

import pytest
from loopback.world import World

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]
AGENTFILE = (
    "FROM scratch\nNAME meteo\nMODEL {cli}-one\nCONTEXT SOUL <<E\nYou tell the weather.\nE\nBIN greet x.test/greet\n"
)


@pytest.fixture
def machine(request, tmp_path, clis, api):
    """A machine of one CLI, with the folder of an agent."""
    machine = World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url, (request.param,))
    machine.cli = request.param
    machine.agent = tmp_path / "meteo"
    machine.agent.mkdir()
    (machine.agent / "Agentfile").write_text(AGENTFILE.format(cli=request.param))
    (machine.agent / "greet.sh").write_text('#!/bin/sh\necho "hello $1"\n')
    (machine.agent / "greet.sh").chmod(0o755)
    return machine


@pytest.mark.parametrize("level", ["none", "guarded", "sealed"])
@pytest.mark.parametrize("machine", ["claude", "codex"], indirect=True)
def test_agent_lives_on_a_real_cli(machine, api, level):
    def agents(*words):
        ran = machine.run("agent", *words)
        assert 0 == ran.exit_code, (words, ran.stderr)
        return ran.stdout

    tool = f"greet={machine.agent / 'greet.sh'}"
    run = json.loads(agents("run", machine.agent, "--name", "calm", "--isolation", level, "--tool", tool, "--json"))
    first = json.loads(agents("prompt", "calm", "What is the weather like?", "--json"))
    events = [json.loads(line) for line in agents("prompt", "calm", "--regenerate", "--stream").splitlines()]
    greeted = agents("exec", "calm", "greet", "you")
    report = json.loads(agents("inspect", "calm", "--json"))["isolation_report"]
    stopped = json.loads(agents("stop", "calm", "--json"))
    agents("rm", "calm", "--yes")

    assert ("ready", level) == (run["status"], run["isolation"])
    assert ("completed", True) == (first["status"], bool(first["reply"]))
    assert ("step.start", "step.finish") == (events[0]["type"], events[-1]["type"])
    assert "message.create" in [event["type"] for event in events]
    assert "hello you" in str(greeted)
    assert level == "none" or [] == report["measured"]["unexpected"]
    assert "stopped" == stopped["status"]
    assert [f"{machine.cli}-one"] == sorted({call.account for call in api.calls})
