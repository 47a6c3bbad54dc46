"""What a token of an agent gives: the tools of its capabilities, on its own notes and along its links.

Everything is looked up anew at each call: a token that was revoked, a link that was withdrawn, an agent that was
removed count at once. Texts lose what is known as a secret on the way in and out.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.capabilities import CAPABILITIES, PROMPT_S, Capability, check_key
from oulipoly_engine.core.agents.tokens import AgentToken, read_token
from oulipoly_engine.core.extensions.settings import fill_settings
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.text.redact import redact, redact_strictly
from oulipoly_engine.errors import AgentFailed, LinkMissing, PromptMissing, RunnerError, TokenInvalid, UsageInvalid
from oulipoly_engine.facade.agents.work import AgentWork
from oulipoly_engine.facade.base.agent_rights import find_asker
from oulipoly_engine.facade.base.own_process import parent_invocation
from oulipoly_engine.facade.live.sessions import LiveSessions
from oulipoly_engine.service.agents.tokens import load_secret
from oulipoly_engine.store.agents import agents, together

_LONGEST_ANSWER = 1 << 20  # characters


class AgentTools(AgentWork):
    """The tools of one agent, for whoever shows a token of it."""

    def check_token(self, token: str) -> str:
        """Return the id of a token that holds. Raises TokenInvalid, TokenRevoked."""
        return self._read(token)[1].token_id

    def list_tools(self, token: str) -> tuple[Capability, ...]:
        """Return what a token gives now. Raises TokenInvalid, TokenRevoked."""
        agent, claims = self._read(token)
        return tuple(CAPABILITIES[name] for name in _list_given(agent, claims))

    def call_tool(self, token: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Do what a tool does, and return its answer. Raises RunnerError."""
        agent, claims = self._read(token)
        if name not in _list_given(agent, claims):
            raise UsageInvalid(f"the agent {agent.name} has not the capability {name[:80]}")
        try:
            values = fill_settings(CAPABILITIES[name].parameters, arguments)
        except ValueError as error:
            raise UsageInvalid(str(error).replace("the setting", "the argument")) from error
        answer = self._list_targets(agent, claims) if name == "agent-list" else ""
        if name == "agent-prompt":
            answer = self._prompt(agent, claims, values["agent"], values["text"])
        if name.startswith("note-"):
            answer = self._do_note(agent, name, values)
        return redact_strictly(answer[:_LONGEST_ANSWER])

    def _read(self, token: str) -> tuple[Agent, AgentToken]:
        with self._home.lend_store_to_read() as store:
            secret = load_secret(self._home.paths.token_secret)
            claims = read_token(token, secret, self._home.now(), lambda token_id: together.is_revoked(store, token_id))
            agent = agents.read(store, claims.agent_id)
        if agent is None or agent.status in ("removing", "removed"):
            raise TokenInvalid("the agent of the token is removed")
        return agent, claims

    # Notes -----------------------------------------------------------------------------------------------------------
    def _do_note(self, agent: Agent, name: str, values: Mapping[str, Any]) -> str:
        agent_id = agent.agent_id
        key = values.get("key", "")
        with self._home.lend_store() as store:
            match name:
                case "note-save":
                    text = redact(values["text"])
                    together.save_note(store, agent_id, check_key(key), text, self._home.now())
                    return "saved" if text == values["text"] else "saved, without what looks like a secret"
                case "note-get":
                    return together.read_note(store, agent_id, key).text
                case "note-delete":
                    together.delete_note(store, agent_id, key)
                    return "deleted"
                case "note-set-in-context":
                    together.pin_note(store, agent_id, key, is_pinned=values["in_context"])
                    return (
                        "part of your next sessions' context"
                        if values["in_context"]
                        else "not part of your context any more"
                    )
                case _:
                    notes = together.list_notes(store, agent_id)
        return _dump([{"key": note.key, "characters": len(note.text), "in_context": note.is_pinned} for note in notes])

    # Other agents ----------------------------------------------------------------------------------------------------
    def _find_targets(self, agent: Agent, claims: AgentToken) -> tuple[Agent, ...]:
        """Return whom an agent may prompt now; by a person's token those alone that it was made for."""
        with self._home.lend_store_to_read() as store:
            target_ids = set(together.list_targets(store, agent.agent_id))
            if claims.issuer != "agent":
                target_ids &= set(claims.links)
            return tuple(each for each in agents.list_agents(store) if each.agent_id in target_ids)

    def _list_targets(self, agent: Agent, claims: AgentToken) -> str:
        targets = self._find_targets(agent, claims)
        return _dump([{"agent": target.name, "status": target.status} for target in targets])

    def _prompt(self, agent: Agent, claims: AgentToken, name: str, text: str) -> str:
        """Ask another agent in a new session of it, and return its answer. Raises LinkMissing, AgentFailed."""
        target = next((each for each in self._find_targets(agent, claims) if each.name == name), None)
        if target is None:
            way = f"a person allows it with `agents agent link {agent.name} NAME`"
            raise LinkMissing(f"{agent.name} may not prompt {name[:80]}: {way}")
        if not text.strip():
            raise PromptMissing("the prompt is empty: say what is asked")
        session_id = self._find_own_session(agent)
        self._refuse_loop(session_id)
        title = f"agent {target.name}, asked by {agent.name}"
        session = self._begin(
            self._require_running(target.agent_id),
            has_tools=True,
            title=title,
            parent=parent_invocation(),
            prompted_by=session_id,
        )
        self._write_log(agent, f"asks {target.name} in session {session.session_id}")
        try:
            return self._ask(target, session.session_id, redact(text))
        finally:
            self.close_session(session.session_id)
            self.settle()

    def _ask(self, target: Agent, session_id: str, text: str) -> str:
        live = LiveSessions(self._home)
        turn_id = str(uuid.uuid4())
        is_answered = False
        try:
            live.send(session_id, text, turn_id=turn_id)
            result = live.wait(session_id, turn_id, lambda _event: False, patience_s=PROMPT_S)
            is_answered = result.status == "completed"
        finally:
            if not is_answered:  # whoever asked does not wait any more
                with suppress(RunnerError):
                    live.order(session_id, orders.Cancel(), starts=False)
        if not is_answered:
            why = redact(result.message) or ("a person has to answer it" if result.request_id else "no answer came")
            raise AgentFailed(f"{target.name} did not answer, its turn is {result.status}: {why}")
        return result.reply or ""

    def _find_own_session(self, agent: Agent) -> str:
        """Return the session of an agent whose process has started us; empty: none has.

        A call over REST comes of any process: of the agent's sessions in which a turn runs the one counts that most
        agents wait for, so that a loop ends there too.
        """
        asker = find_asker(self._home)
        if asker is not None:
            return asker.session_id
        with self._home.lend_store_to_read() as store:
            turns = agents.list_open_turns(store)
            working = [session_id for agent_id, session_id in turns if agent_id == agent.agent_id]
            return max(working, key=lambda each: len(agents.list_waiting(store, each)), default="")


def _list_given(agent: Agent, claims: AgentToken) -> tuple[str, ...]:
    """Return the capabilities that an agent has and a token names."""
    return tuple(name for name in agent.plan.capabilities if name in claims.capabilities and name in CAPABILITIES)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
