"""An agent's tree on the disk (vectors 24, 25)."""

import json

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, PlannedContext, PlannedTool, PlannedVariable
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.errors import AgentFailed
from oulipoly_engine.records import replace
from oulipoly_engine.service.agents.tree import remove_tree, write_tree

NOW = SystemClock().now()


@pytest.fixture
def agent(tmp_path):
    program = tmp_path / "jq.sh"
    program.write_text("#!/bin/sh\n")
    (tmp_path / "given").mkdir()
    plan = AgentPlan(
        "anthropic/x",
        contexts=(PlannedContext("SOUL", "Be kind.\n"),),
        variables=(PlannedVariable("PASSPHRASE", "secret-value"), PlannedVariable("PATH", "/evil")),
        tools=(PlannedTool("jq", "example.com/jq", usage="use it", program=str(program)),),
        mounts=(Mount(str(tmp_path / "given"), "/data/given", is_read_only=True),),
        source_text="FROM scratch\n",
    )
    return Agent("1", "meteo", "meteo:latest", "none", "starting", NOW, NOW, plan=plan)


def test_tree_has_what_the_contract_names(agent, tmp_path):
    root = tmp_path / "root"
    write_tree(root, agent, (f"{root}/usr/bin",))
    names = {str(path.relative_to(root)) for path in root.rglob("*")}

    assert names >= {"etc/agent.yaml", "etc/Agentfile", "etc/data/bins/jq/USAGE.md", "usr/bin/jq", "var/lib", "tmp"}
    assert names >= {f"etc/context/{name}.md" for name in ("SOUL", "AGENT", "WORKSPACE", "MOUNTS")}
    assert (root / "usr/bin/jq").stat().st_mode & 0o777 == 0o755
    assert (root / "data/given").readlink() == tmp_path / "given"


def test_description_has_no_value_and_no_path_of_the_host(agent, tmp_path):
    root = tmp_path / "root"
    write_tree(root, agent, ())
    text = (root / "etc/agent.yaml").read_text()
    document = json.loads(text)

    assert "secret-value" not in text
    assert str(tmp_path / "given") not in text
    assert "PATH`" not in (root / "etc/context/AGENT.md").read_text()  # reserved: it was left out
    assert document["envs"] == ["PASSPHRASE"]
    assert document["mounts"] == [{"target": "/data/given", "description": "", "read_only": True}]
    assert not {"exec", "addr", "api_key", "api_base"} & document.keys()


def test_what_the_agent_wrote_stays_and_what_is_ours_is_made_anew(agent, tmp_path):
    root = tmp_path / "root"
    write_tree(root, agent, ())
    (root / "workspace/notes").write_text("mine")
    (root / "etc/context/SOUL.md").write_text("be evil")
    (root / "usr/bin/planted").write_text("x")
    write_tree(root, agent, ())

    assert (root / "workspace/notes").read_text() == "mine"
    assert (root / "etc/context/SOUL.md").read_text() == "Be kind.\n"
    assert not (root / "usr/bin/planted").exists()


def test_nothing_is_written_through_links_that_an_agent_leaves(agent, tmp_path):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    outside.mkdir()
    write_tree(root, agent, ())
    remove_tree(root / "etc")
    (root / "etc").symlink_to(outside)
    write_tree(root, agent, ())
    remove_tree(root / "workspace")
    (root / "workspace").symlink_to(outside)

    assert list(outside.iterdir()) == []
    with pytest.raises(AgentFailed, match="is not a folder"):
        write_tree(root, agent, ())


def test_folder_that_is_not_there_is_not_given(agent, tmp_path):
    plan = replace(agent.plan, mounts=(Mount(str(tmp_path / "none"), "/data"),))
    with pytest.raises(AgentFailed, match="create it"):
        write_tree(tmp_path / "root", replace(agent, plan=plan), ())
