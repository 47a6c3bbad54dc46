"""Who may do what with running agents: each operation for a person and for what an agent has started."""

import json
import uuid
from datetime import UTC, datetime

import pytest

from oulipoly_engine import variables
from oulipoly_engine.core.agents.agents import Job, Overrides
from oulipoly_engine.core.agents.capabilities import CAPABILITIES, MAY, Caller
from oulipoly_engine.core.commands.table import every
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import Prompt
from oulipoly_engine.core.live.sessions import ASKERS, LiveRequest
from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.facade.base import agent_rights
from oulipoly_engine.facade.base.agent_rights import Asker
from oulipoly_engine.records import replace
from oulipoly_engine.store.agents import agents, jobs
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.web.access.viewer import OWN_USER, SCOPES, NotAllowed, Viewer
from oulipoly_engine.web.api.engine import check_answer

NEITHER = "neither-there-0000"  # of a session, a job: what is allowed fails there, and not before
ACTS = {  # by command: what does it to the agent `wild`
    "agent ps": lambda engine: engine.agent_list.list(),
    "agent inspect": lambda engine: engine.agents.inspect("wild"),
    "agent logs": lambda engine: engine.agents.read_log("wild"),
    "agent sessions": lambda engine: engine.agents.list_sessions("wild"),
    "agent links": lambda engine: engine.together.list_links("wild"),
    "job ls": lambda engine: engine.agents.list_jobs("wild"),
    "job inspect": lambda engine: engine.agents.find_job("job_1"),
    "job await": lambda engine: engine.agents.await_job("job_1", 0.0),
    "job cancel": lambda engine: engine.agents.cancel_job("job_1"),
    "job run": lambda engine: engine.agents.run_job("wild", "none", (), b"", {}),
    "agent exec": lambda engine: engine.agents.exec("wild", "none"),
    "agent prompt": lambda engine: engine.agents.begin_session("wild"),
    "agent chat": lambda engine: engine.agents.find_session("wild", NEITHER),
    "agent run": lambda engine: engine.agents.run(AgentWish("/nothing/there")),
    "agent start": lambda engine: engine.agents.start("wild"),
    "agent stop": lambda engine: engine.agents.stop("wild"),
    "agent rm": lambda engine: engine.agents.delete_session("wild", NEITHER),
    "agent link": lambda engine: engine.together.link("wild", "wild"),
    "agent unlink": lambda engine: engine.together.unlink("wild", "wild"),
    "note ls": lambda engine: engine.together.list_notes("wild"),
    "note get": lambda engine: engine.together.read_note("wild", NEITHER),
    "note set": lambda engine: engine.together.save_note("wild", "", "x"),
    "note rm": lambda engine: engine.together.delete_note("wild", NEITHER),
    "note pin": lambda engine: engine.together.pin_note("wild", NEITHER, is_pinned=True),
    "note unpin": lambda engine: engine.together.pin_note("wild", NEITHER, is_pinned=False),
    "token create": lambda engine: engine.together.make_token("wild", ["none"]),
    "token ls": lambda engine: engine.together.list_tokens("wild"),
    "token revoke": lambda engine: engine.together.revoke_token(NEITHER),
}


@pytest.fixture
def world(live, monkeypatch):
    """Two agents that were brought up without a CLI, a job of one, and what becomes any of who may ask."""
    engine = live.engine
    folder = live.root / "x"
    folder.mkdir()
    (folder / "Agentfile").write_text("FROM scratch\nNAME x\nMODEL demo-codex\n")
    named = {}
    for name in ("calm", "wild"):
        overrides = Overrides(capabilities=tuple(CAPABILITIES))
        named[name] = engine.agents.run(AgentWish(str(folder), name, "none", overrides))
    store = open_store(engine.paths.state_db)
    agents.add_session(store, named["calm"].agent_id, "session-of-calm", named["calm"].created_at)
    jobs.insert(store, Job("job_1", named["wild"].agent_id, "job", "none", "done", named["wild"].created_at))
    yield named, store
    store.close()


@pytest.fixture
def become(live, world, monkeypatch):
    """Return what makes us be started by somebody."""
    named, _ = world

    def make(caller):
        if caller is Caller.PERSON:
            monkeypatch.delenv(variables.PARENT_INVOCATION, raising=False)
            return
        monkeypatch.setenv(variables.PARENT_INVOCATION, json.dumps({"source": "x", "id": str(uuid.uuid4())}))
        asker = {
            Caller.ITSELF: Asker(named["wild"], "session-of-wild"),
            Caller.LINKED: Asker(named["calm"], "session-of-calm"),
        }.get(caller)
        monkeypatch.setattr(agent_rights, "find_asker", lambda _home: asker)

    return make


def is_refused(act, engine):
    """Tell whether it is refused for who asks; whatever else goes wrong was allowed."""
    try:
        act(engine)
    except RequestRefused as error:
        return "an agent may not" in error.message
    except RunnerError:
        return False
    return False


def test_every_operation_is_for_whom_the_table_says(live, world, become):
    live.engine.together.link("calm", "wild")
    wrong = []
    for caller in (Caller.OTHER, Caller.LINKED, Caller.ITSELF, Caller.PERSON):
        become(caller)
        wrong += [
            (command, caller)
            for command, act in ACTS.items()
            if is_refused(act, live.engine) == (caller in MAY[command])
        ]

    assert [] == wrong


def test_every_command_on_running_agents_has_a_row():
    commands = {command.name for command in every() if command.name.split()[0] in ("agent", "job", "note", "token")}

    assert commands - {"agent list"} == {*MAY}
    assert {*ACTS} == {*MAY}


def test_link_gives_nothing_without_the_capability_and_the_refusal_says_who_gives_it(live, world, become):
    become(Caller.LINKED)

    with pytest.raises(RequestRefused, match=r"`agents agent prompt wild`.*`agents agent link calm wild`"):
        live.engine.agents.begin_session("wild")
    with pytest.raises(RequestRefused, match="may not stop an agent: a person does, with `agents agent stop wild` in"):
        live.engine.agents.stop("wild")


@pytest.mark.parametrize("mark", ["", "{}", "${OULIPOLY_PARENT_INVOCATION}", '{"source":"x"}', "nonsense"])
def test_mark_of_a_run_that_cannot_be_read_is_no_person(live, mark, monkeypatch):
    monkeypatch.setenv(variables.PARENT_INVOCATION, mark)

    with pytest.raises(RequestRefused, match="an agent may not"):
        live.engine.together.link("calm", "wild")


def test_agent_talks_to_the_sessions_of_others_that_it_has_begun_and_answers_none(live, world, become):
    named, store = world
    for session, prompter in (("of-person", ""), ("of-calm", "session-of-calm")):
        agents.add_session(store, named["wild"].agent_id, session, named["wild"].created_at, prompter)
    home = live.engine.agents._home
    become(Caller.LINKED)
    agent_rights.require_right_to_session(home, "of-calm")
    agent_rights.require_right_to_session(home, "of-nobody", answers=True)

    with pytest.raises(RequestRefused, match="may not talk to a session of the agent wild"):
        agent_rights.require_right_to_session(home, "of-person")
    with pytest.raises(RequestRefused, match="may not answer what the agent wild asks"):
        agent_rights.require_right_to_session(home, "of-calm", answers=True)


def test_orders_to_a_session_of_an_agent_are_refused_by_every_way(live, world, become):
    session = live.engine.agents.begin_session("wild").session_id
    become(Caller.OTHER)

    for order in (
        lambda: live.live.send(session, "hello"),
        lambda: live.live.order(session, orders.Cancel(), starts=False),
        lambda: live.live.order(session, orders.Rename("x"), starts=True),
        lambda: live.live.change_queue(session, orders.ChangeQueue("m", "remove")),
        lambda: live.live.start(session),
        lambda: live.engine.work.send(session, "hello"),
        lambda: live.engine.work.cancel(session),
    ):
        with pytest.raises(RequestRefused, match="an agent may not talk to a session of the agent wild"):
            order()


def test_run_that_asks_by_the_server_gives_no_order_to_a_session_of_an_agent_and_answers_none(live, world):
    named, store = world
    agents.add_session(store, named["wild"].agent_id, "of-itself", named["wild"].created_at)
    asking = live.live.acting_as("this computer", is_person=False, is_run=True)
    asking.require_right("of-nobody", answers=True)

    with pytest.raises(RequestRefused, match="may not talk to a session of the agent wild"):
        asking.require_right("of-itself")
    with pytest.raises(RequestRefused, match="may not answer what the agent wild asks"):
        asking.require_right("of-itself", answers=True)


@pytest.mark.parametrize("origin", sorted(ASKERS))
def test_run_that_asks_by_the_server_says_yes_to_nothing_that_is_a_person_s(origin):
    run = Viewer("this computer", OWN_USER, SCOPES, is_confirmed=True, is_run=True)
    now = datetime(2026, 11, 28, tzinfo=UTC)
    request = LiveRequest(
        "r", "s", "", "n", "command_approval", "pending", Prompt(title="x"), origin=origin, created_at=now
    )

    check_answer(run, replace(request, origin="live"), "approve")
    with pytest.raises(NotAllowed, match="a person does"):
        check_answer(run, request, "approve")
