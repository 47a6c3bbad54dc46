"""An agent's model keeps a note and asks another agent, by the tools of its capabilities, out of its box."""

import json
import os

import pytest
from loopback.extension import CALLS
from loopback.world import World

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(180)]
NAMES = {"claude": lambda name: name, "codex": lambda name: name.replace("-", "_")}  # as each shows a tool to its model
FILE = "FROM scratch\nNAME {name}\nMODEL {cli}-one\nCAPABILITY agent_prompt note_save unknown_one\n"


@pytest.fixture
def agents(tmp_path, clis, api):
    """A machine with both CLIs, and a way to run an agent on one of them."""
    world = World(tmp_path / "machine", clis, os.environ["PYTHONPATH"], api.url)

    def run(name, cli, isolation):
        folder = world.project / name
        folder.mkdir()
        (folder / "Agentfile").write_text(FILE.format(name=name, cli=cli))
        ran = world.run(
            "agent", "run", folder, "--name", name, "--isolation", isolation, "-v", f"{clis.parent}:/clis:ro"
        )
        assert 0 == ran.exit_code, ran.stderr
        return name

    world.run_agent = run
    return world


@pytest.mark.parametrize("isolation", ["none", "guarded", "sealed"])
@pytest.mark.parametrize(("asks", "answers"), [("claude", "codex"), ("codex", "claude")])
def test_agent_asks_another_along_its_link_alone(agents, api, plan, asks, answers, isolation):
    agents.run_agent("calm", asks, isolation)
    agents.run_agent("wild", answers, isolation)
    api.plans[f"{asks}-one"] = plan(
        tool=CALLS[asks](NAMES[asks]("agent-prompt"), {"agent": "wild", "text": "How far is it?"})
    )
    api.plans[f"{answers}-one"] = plan(turns=("Forty-two miles.",))

    refused = agents.run("agent", "prompt", "calm", "Ask wild.", "--json")
    linked = agents.run("agent", "link", "calm", "wild", "--json")
    asked = agents.run("agent", "prompt", "calm", "Ask wild.", "--json")

    assert "may not prompt wild" in refused.stdout, refused.stderr
    assert 0 == linked.exit_code, linked.stderr
    assert "Forty-two miles." in asked.stdout, asked.stderr + asked.stdout


@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_agent_keeps_a_note(agents, api, plan, cli):
    agents.run_agent("calm", cli, "guarded")
    api.plans[f"{cli}-one"] = plan(tool=CALLS[cli](NAMES[cli]("note-save"), {"key": "city", "text": "Rome"}))
    agents.run("agent", "prompt", "calm", "Keep it.")

    assert "Rome" == json.loads(agents.run("note", "get", "calm", "city", "--json").stdout)["text"]


def test_two_agents_that_ask_each_other_are_stopped(agents, api, plan):
    for name, cli, other in (("calm", "claude", "wild"), ("wild", "codex", "calm")):
        agents.run_agent(name, cli, "guarded")
        arguments = {"agent": other, "text": "And you?"}
        api.plans[f"{cli}-one"] = plan(tool=CALLS[cli](NAMES[cli]("agent-prompt"), arguments))
    agents.run("agent", "link", "calm", "wild")
    agents.run("agent", "link", "wild", "calm")

    asked = agents.run("agent", "prompt", "calm", "Ask.", "--json")

    assert "calm > wild > calm > wild wait for one another already" in asked.stdout, asked.stderr
