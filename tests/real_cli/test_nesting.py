"""An agent that runs our command in turn becomes the parent in the trace."""

import shlex

import pytest

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [("claude", "codex"), ("codex", "claude"), ("claude", "claude")],
    ids=["claude-runs-codex", "codex-runs-claude", "claude-runs-claude"],
)
def test_run_inside_a_tool_call_is_a_child_in_the_trace(world, api, plan, outer, inner):
    world.configure(api.url, claude="tools", codex="tools")
    api.plans[f"{outer}-one"] = plan(tool_command=shlex.join(world.command("-m", f"{inner}-two", "inner")))
    world.add_model(f"{inner}-two", [f"{inner}-two"])

    ran = world.run("-m", f"{outer}-one", "outer")

    root = world.trace(ran)
    (child,) = root["children"]
    assert f"{inner}-two heard: inner" in ran.answer
    assert [f"{outer}-one", f"{inner}-two", f"{outer}-one"] == api.asked()
    assert (f"{inner}-two", "succeeded") == (child["invocation"]["source"], child["invocation"]["status"])
    assert root["invocation"]["id"] == child["invocation"]["parent_id"]
