"""The rows of agents and of their tools."""

import threading

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.agents.agents import Agent, AgentPlan, Job, PlannedFile, PlannedVariable
from oulipoly_engine.core.agents.mounts import Mount
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.errors import AgentStateInvalid, NameTaken
from oulipoly_engine.records import replace
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.agents.work_of_session import note_work_of_session
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_sessions

NOW = SystemClock().now()
PLAN = AgentPlan(
    "anthropic/x",
    configs={"max-tokens": "1024"},
    variables=(PlannedVariable("A", "b"),),
    files=(PlannedFile("cities.json", "sha256:0"),),
    mounts=(Mount("/x", "/data", "notes", is_read_only=True),),
)
AGENT = Agent("11111111-aaaa", "calm-otter", "meteo:latest", "none", "pulling", NOW, NOW, plan=PLAN)


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "state.db")
    agents.insert(store, AGENT)
    yield store
    store.close()


def test_agent_is_read_as_it_was_written(store):
    assert agents.find(store, "calm-otter") == (AGENT,)
    assert agents.find(store, "11111111") == (AGENT,)
    assert agents.find(store, "1111") == ()
    assert agents.find(store, "calm") == ()


def test_changes_leave_a_history(store):
    agents.move(store, AGENT.agent_id, "image_ready", NOW, owner="1 2 3")
    agents.move(store, AGENT.agent_id, "fail", NOW, reason="model", detail="no account")
    agent = agents.read(store, AGENT.agent_id)

    assert (agent.status, agent.reason, agent.problem, agent.owner) == ("failed", "model", "no account", "")
    changes = agents.read_history(store, AGENT.agent_id)
    assert [(each.status, each.reason, each.detail) for each in changes] == [
        ("pulling", "", ""),
        ("starting", "", ""),
        ("failed", "model", "no account"),
    ]


def test_an_agent_works_while_a_turn_or_a_tool_of_it_is_open(store):
    agents.move(store, AGENT.agent_id, "image_ready", NOW)
    agents.move(store, AGENT.agent_id, "answer", NOW)
    live_sessions.insert(store, LiveSession("s1", "/w", "mine", "codex", "m", NOW, NOW))
    agents.add_session(store, AGENT.agent_id, "s1", NOW)

    live_sessions.insert_turn(store, Turn("t1", "s1", "user", "starting", "hello", "default", NOW))
    note_work_of_session(store, "s1", NOW)
    jobs.insert(store, Job("exec_1", AGENT.agent_id, "exec", "curl", "running", NOW))
    live_sessions.end_turn(store, "t1", "completed", NOW)
    note_work_of_session(store, "s1", NOW)
    assert "working" == agents.read(store, AGENT.agent_id).status
    jobs.move(store, "exec_1", "end", NOW)
    note_work_of_session(store, "nobody's", NOW)

    statuses = [change.status for change in agents.read_history(store, AGENT.agent_id)]
    assert ["pulling", "starting", "ready", "working", "ready"] == statuses


def test_name_is_free_again_once_its_agent_is_removed(store):
    other = replace(AGENT, agent_id="2")
    with pytest.raises(NameTaken):
        agents.insert(store, other)
    agents.insert(store, replace(AGENT, agent_id="3", name="11111111"))
    agents.move(store, AGENT.agent_id, "remove", NOW)
    agents.move(store, AGENT.agent_id, "clean_up", NOW)
    agents.insert(store, other)

    assert [agent.agent_id for agent in agents.list_agents(store)] == ["2", "3"]
    assert len(agents.list_agents(store, has_removed=True)) == 3


def test_only_one_of_several_starts_a_stopped_agent(store, tmp_path):
    agents.move(store, AGENT.agent_id, "stop", NOW)
    outcomes = []

    def start():
        mine = open_store(tmp_path / "state.db")
        try:
            agents.move(mine, AGENT.agent_id, "start", NOW)
            outcomes.append("started")
        except AgentStateInvalid:
            outcomes.append("refused")
        finally:
            mine.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["refused", "refused", "refused", "started"]


def test_job_goes_its_way_once_and_is_listed_by_all_its_labels(store):
    first = Job("job_1", AGENT.agent_id, "job", "jq", "pending", NOW, ("-r", "."), labels={"a.b": "1", "c": "2"})
    jobs.insert(store, first)
    jobs.insert(store, replace(first, job_id="job_2", labels={"a.b": "1"}))
    ways = [jobs.move(store, "job_1", event, NOW, **more) for event, more in (("begin", {}), ("end", {"exit_code": 0}))]

    assert ways == [True, True]
    assert not jobs.move(store, "job_1", "cancel", NOW)
    assert jobs.find(store, "job_1")[0].status == "done"
    assert [job.job_id for job in jobs.list_open(store)] == ["job_2"]
    listed = jobs.list_jobs(store, AGENT.agent_id, labels={"a.b": "1", "c": "2"})
    assert [(job.job_id, job.arguments) for job in listed] == [("job_1", ("-r", "."))]
