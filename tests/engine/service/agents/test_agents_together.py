"""What agents keep and ask of each other by the tools of their capabilities, in a demo world."""

import json
import uuid

import pytest

from oulipoly_engine import variables
from oulipoly_engine.core.agents.agents import Overrides
from oulipoly_engine.core.agents.capabilities import CAPABILITIES, MOST_WAITING
from oulipoly_engine.errors import (
    AgentStateInvalid,
    LinkMissing,
    NoteNotFound,
    RequestRefused,
    TokenInvalid,
    TokenRevoked,
    UsageInvalid,
)
from oulipoly_engine.facade.agents.agents import AgentWish
from oulipoly_engine.facade.agents.tools import AgentTools
from oulipoly_engine.process.liveness import here
from oulipoly_engine.service.agents.tokens import write_agent_token
from oulipoly_engine.store.agents import agents, together
from oulipoly_engine.store.base.db import open_store

SECRET = "ghp_" + "a1B2" * 9
FILE = "FROM scratch\nNAME x\nMODEL demo-codex\n"


class Agent:
    """A running agent and what its model does."""

    def __init__(self, live, name, capabilities):
        source = live.root / "x"
        source.mkdir(exist_ok=True)
        (source / "Agentfile").write_text(FILE)
        overrides = Overrides(capabilities=capabilities)
        self.agent = live.engine.agents.run(AgentWish(str(source), name, "none", overrides))
        self.tools = AgentTools(live.engine.agents._home)
        paths = live.engine.paths
        store = open_store(paths.state_db)
        self.token = write_agent_token(store, paths.token_secret, self.agent, self.agent.created_at)
        store.close()

    def call(self, name, **arguments):
        return self.tools.call_tool(self.token, name, arguments)


@pytest.fixture
def calm(live):
    return Agent(live, "calm", tuple(CAPABILITIES))


@pytest.fixture
def store(live):
    store = open_store(live.engine.paths.state_db)
    yield store
    store.close()


def test_agent_keeps_notes_and_a_pinned_one_is_part_of_its_context(live, calm):
    said = calm.call("note-save", key="plan", text=f"Use {SECRET} at noon")
    calm.call("note-save", key="other", text="x")
    calm.call("note-set-in-context", key="plan", in_context=True)
    calm.call("note-delete", key="other")
    listed = json.loads(calm.call("note-list"))
    live.engine.agents.stop("calm")
    live.engine.agents.start("calm")
    context = (live.engine.agents.root(calm.agent) / "etc/context/AGENT.md").read_text()

    assert "without what looks like a secret" in said
    assert [("plan", True)] == [(note["key"], note["in_context"]) for note in listed]
    assert "at noon" in calm.call("note-get", key="plan")
    assert "## Your note `plan`" in context
    assert SECRET not in context
    with pytest.raises(NoteNotFound):
        calm.call("note-get", key="other")
    with pytest.raises(UsageInvalid, match="`in_context` is not of the type boolean"):
        calm.call("note-set-in-context", key="plan", in_context="yes")


def test_agent_asks_along_its_links_and_what_is_withdrawn_counts_at_once(live, calm):
    wild = Agent(live, "wild", ("note-list",))
    with pytest.raises(LinkMissing, match="calm may not prompt wild"):
        calm.call("agent-prompt", agent="wild", text="How far?")
    live.engine.together.link("calm", "wild")
    listed = json.loads(calm.call("agent-list"))
    answer = calm.call("agent-prompt", agent="wild", text=f"How far? {SECRET}")
    session = live.live.list_sessions()[0].session
    (grant,) = [grant for grant in live.engine.grants.list() if grant.kind == "prompt"]
    live.engine.grants.revoke(grant.grant_id)

    assert [{"agent": "wild", "status": "ready"}] == listed
    assert "wild, asked by calm" in session.title
    assert answer
    assert SECRET not in answer
    assert ("calm", "prompt the agent wild") == (grant.subject, grant.right)
    assert "[]" == calm.call("agent-list")
    with pytest.raises(UsageInvalid, match="has not the capability agent-prompt"):
        wild.call("agent-prompt", agent="calm", text="x")


def test_prompts_that_wait_for_one_another_are_bounded(live, calm, store, monkeypatch):
    sessions = [f"s{number}" for number in range(MOST_WAITING)]
    for session, asker in zip(sessions, ["", *sessions], strict=False):
        agents.add_session(store, calm.agent.agent_id, session, calm.agent.created_at, asker)
    live.engine.together.link("calm", Agent(live, "wild", ()).agent.name)
    monkeypatch.setattr(calm.tools, "_find_own_session", lambda _: sessions[-1])

    with pytest.raises(LinkMissing, match="calm > calm > calm > calm wait for one another already"):
        calm.call("agent-prompt", agent="wild", text="x")


def test_removed_agent_leaves_no_note_no_link_and_no_token(live, calm, store):
    Agent(live, "wild", ())
    live.engine.together.link("calm", "wild")
    live.engine.together.link("wild", "calm")
    calm.call("note-save", key="a", text="b")
    token, text = live.engine.together.make_token("calm", ["note_list"])
    mine = calm.tools.list_tools(text)
    live.engine.agents.remove("calm")

    assert ["note-list"] == [tool.name for tool in mine]
    assert () == together.list_notes(store, calm.agent.agent_id) == together.list_links(store)
    assert together.is_revoked(store, token.token_id)
    assert all(each.revoked_at for each in together.list_tokens(store, calm.agent.agent_id))
    with pytest.raises(TokenRevoked):
        calm.call("note-list")


def test_removal_that_was_killed_is_finished_with_notes_links_and_tokens(live, calm, store):
    Agent(live, "wild", ())
    live.engine.together.link("wild", "calm")
    calm.call("note-save", key="a", text="b")
    agents.move(store, calm.agent.agent_id, "remove", calm.agent.created_at, owner=f"1 1 {here() or ''}")
    with pytest.raises(TokenInvalid, match="removed"):
        calm.call("note-list")
    with pytest.raises(AgentStateInvalid, match="being removed"):
        live.engine.together.link("wild", "calm")
    left = [standing.agent.name for standing in live.open_engine().agents.list()]

    assert ["wild"] == left
    assert () == together.list_notes(store, calm.agent.agent_id) == together.list_links(store)
    assert all(each.revoked_at for each in together.list_tokens(store, calm.agent.agent_id))


def test_token_lies_nowhere_and_one_that_is_revoked_gives_nothing(live, calm):
    (agents_own, _name), *_ = live.engine.together.list_tokens("calm")
    files = [path for path in live.engine.paths.data.rglob("*") if path.is_file() and path.suffix != ".key"]
    live.engine.together.revoke_token(agents_own.token_id[:8])

    assert (365 * 10, "agent") == ((agents_own.expires_at - agents_own.issued_at).days, agents_own.issuer)
    assert not [path for path in files if calm.token.encode() in path.read_bytes()]
    assert 0o600 == live.engine.paths.token_secret.stat().st_mode & 0o777
    with pytest.raises(TokenRevoked):
        calm.call("note-list")
    with pytest.raises(TokenInvalid):
        calm.tools.list_tools("x.y.z")
    with pytest.raises(UsageInvalid, match="has no capabilities"):
        live.engine.together.make_token(Agent(live, "wild", ()).agent.name, [])


def test_what_an_agent_has_started_is_no_person(live, calm, monkeypatch):
    together_ = live.engine.together
    together_.save_note("calm", "a", "b")
    monkeypatch.setenv(variables.PARENT_INVOCATION, json.dumps({"source": "x", "id": str(uuid.uuid4())}))

    for act in (
        lambda: together_.link("calm", "calm"),
        lambda: together_.unlink("calm", "calm"),
        lambda: together_.make_token("calm", []),
        lambda: together_.revoke_token("x"),
        lambda: together_.pin_note("calm", "a", is_pinned=True),
        lambda: together_.read_note("calm", "a"),
    ):
        with pytest.raises(RequestRefused, match="an agent may not"):
            act()
