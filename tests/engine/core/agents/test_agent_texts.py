"""What an agent is told of where it is."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.agents.agents import Agent, AgentPlan
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.agents.texts import AgentView, ToolText, agent_text, mounts_text, workspace_text
from oulipoly_engine.records import replace

NOW = datetime(2026, 11, 30, tzinfo=UTC)
VIEW = AgentView(
    name="meteo",
    root="/r",
    workspace="/r/workspace",
    bin_dirs=("/r/usr/bin",),
    isolation="none",
    tools=(ToolText("jq", "reads JSON", "/r/etc/data/bins/jq/USAGE.md"),),
    mounts=(Mount("/x", "/data", "notes", is_read_only=True), Mount("/y", "/out")),
)


def test_tools_are_an_allow_list():
    assert "no others:\n\n- `jq`: reads JSON (see `/r/etc/data/bins/jq/USAGE.md`)" in agent_text(VIEW)
    assert "no tools" in agent_text(replace(VIEW, tools=()))


def test_only_what_may_be_written_is_listed_as_such():
    text = agent_text(VIEW).partition("## Where you may write")[2]

    assert "`/r/workspace`" in text
    assert "`/r/out`" in text
    assert "/data" not in text


@pytest.mark.parametrize(("isolation", "claims"), [("none", False), ("guarded", False), ("sealed", True)])
def test_only_a_sandbox_is_called_so(isolation, claims):
    text = workspace_text(replace(VIEW, isolation=isolation))

    assert ("sandbox" in text) == claims
    assert ("real paths" in text) != claims


def test_read_only_is_said_to_be_a_wish_where_nothing_enforces_it():
    assert "nothing here prevents it" in mounts_text(VIEW)
    assert "- `/r/data` (ro): notes\n- `/r/out`" in mounts_text(VIEW)
    assert "prevents" not in mounts_text(replace(VIEW, isolation="sealed"))
    assert "- `/data` (ro): notes" in mounts_text(replace(VIEW, isolation="container"))


def test_network_behind_a_proxy_is_told_with_what_it_lets_through():
    alone = workspace_text(replace(VIEW, isolation="sealed", network="proxy"))
    listed = workspace_text(replace(VIEW, isolation="sealed", network="proxy", addresses=("example.org",)))
    own = workspace_text(replace(VIEW, isolation="sealed", network="proxy", runtime_binary="/r/runtime"))

    assert "no network but what a proxy lets through, which HTTPS_PROXY names: nothing." in own
    assert "no network but your model" in alone
    assert "lets through besides: nothing." in alone
    assert "lets through besides: example.org." in listed


def test_capabilities_whose_tools_are_not_reached_are_not_promised():
    plan = AgentPlan(capabilities=("note-save",))
    calm = Agent("a", "calm", "x", "container", "ready", NOW, NOW, plan=plan)
    own = replace(calm, isolation="guarded", plan=replace(plan, runtime="/x"))
    text = agent_text(replace(VIEW, capabilities=("note-save",), why_without_tools=calm.why_without_tools))

    assert "note-save" not in text
    assert "You have the tools of none: their socket is not in containers." in text
    assert "not to a runtime of its own" in own.why_without_tools
    assert (
        "" == replace(calm, isolation="guarded").why_without_tools == replace(calm, plan=AgentPlan()).why_without_tools
    )
