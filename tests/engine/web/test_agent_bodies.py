"""What the OpenAPI document says of a running agent is what `--json` prints."""

from datetime import UTC, datetime

from oulipoly_engine.core.agents.agents import Agent, Job
from oulipoly_engine.core.agents.texts import AgentView
from oulipoly_engine.core.boxes.box import Level, Network
from oulipoly_engine.core.boxes.report import IsolationReport
from oulipoly_engine.facade.agents.documents import agent_json, describe, details_json, standing_json
from oulipoly_engine.facade.agents.inspection import AgentDetails
from oulipoly_engine.facade.agents.standings import AgentStanding, list_logins_in_reach
from oulipoly_engine.records import replace
from oulipoly_engine.web.base import agent_bodies

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CALM = Agent("aaaa1111", "calm", "./calm", "guarded", "ready", NOW, NOW)


def test_models_have_the_keys_of_the_documents():
    standing = AgentStanding(CALM, logins={"mine": "it has expired"})
    job = Job("exec_1", "aaaa1111", "exec", "greet", "done", NOW)
    document = details_json(AgentDetails(standing, (), (), AgentView("calm", "/r", "/r/w", (), ""), (), (), (job,)))

    assert document.keys() == agent_bodies.RunningAgentDetails.model_fields.keys()
    assert document["logins"][0].keys() == agent_bodies.AgentLogin.model_fields.keys()
    assert document["runs_of_tools"][0].keys() == agent_bodies.ToolRun.model_fields.keys()
    assert agent_json(CALM).keys() == agent_bodies.AgentChanged.model_fields.keys()


def test_what_was_not_tried_from_inside_is_not_listed():
    report = IsolationReport(Level.GUARDED, Network.SHARED, ("udp",), ("tcp",), (), (), (), (), ())
    details = AgentDetails(AgentStanding(CALM), (), (), AgentView("calm", "/r", "/r/w", (), ""), (), (), (), report)

    assert ["connect to servers: no", "send datagrams: yes"] == [
        text for name, text in describe(details) if name == "measured"
    ]


def test_an_agent_that_nothing_holds_is_told_of_once():
    logins = {"mine": "nothing holds it", "hers": "nothing holds it"}

    assert 1 == len(list_logins_in_reach("none", logins))
    assert 2 == len(list_logins_in_reach("guarded", logins))


def test_a_sealed_agent_reaches_no_login():
    sealed = AgentStanding(replace(CALM, isolation="sealed"), logins={"mine": "it has expired"})

    assert not standing_json(sealed)["logins"][0]["is_in_reach"]  # the account is refused
    assert () == list_logins_in_reach("sealed", sealed.logins)
