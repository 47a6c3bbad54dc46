"""What a person says of running agents together: who may prompt whom, what each keeps, which tokens hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.capabilities import Note, check_key, parse_capabilities
from oulipoly_engine.core.agents.tokens import AgentToken, write_token
from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import AgentStateInvalid, LinkMissing, TokenInvalid, UsageInvalid
from oulipoly_engine.facade.agents.agents import Agents
from oulipoly_engine.facade.base.agent_rights import require_right
from oulipoly_engine.facade.base.home import Part, find_only
from oulipoly_engine.records import Record
from oulipoly_engine.service.agents.tokens import load_secret, make_token
from oulipoly_engine.store.agents import agents, together
from oulipoly_engine.store.base.db import Store


class AgentLink(Record):
    """A permission to prompt."""

    source: Agent
    target: Agent
    allowed_at: datetime


class Together(Part):
    """Links, notes and tokens of running agents, for a person: an agent that we have started gets nothing here."""

    # Links -----------------------------------------------------------------------------------------------------------
    def link(self, source: str, target: str) -> AgentLink:
        """Let an agent prompt another one, and return that. Raises AgentNotFound, UsageInvalid, RequestRefused."""
        with self._writing("agent link") as store:
            ends = self._find_ends(source, target)
            for agent in ends:
                if agent.status == "removing":
                    raise AgentStateInvalid(f"the agent {agent.name} is being removed: run another one")
            now = self._home.now()
            together.link(store, ends[0].agent_id, ends[1].agent_id, now)
            return AgentLink(*ends, now)

    def unlink(self, source: str, target: str) -> AgentLink:
        """Let an agent prompt another one no more, and return what was. Raises LinkMissing, and as `link`."""
        with self._writing("agent unlink") as store:
            ends = self._find_ends(source, target)
            if not together.unlink(store, ends[0].agent_id, ends[1].agent_id):
                raise LinkMissing(f"{ends[0].name} may not prompt {ends[1].name}: `agents agent links` lists who may")
            return AgentLink(*ends, self._home.now())

    def list_links(self, identity: str = "") -> tuple[AgentLink, ...]:
        """Return who may prompt whom, the oldest first; of one agent those from and to it. Raises AgentNotFound."""
        agent_id = Agents(self._home).find(identity).agent_id if identity else ""
        with self._home.lend_store_to_read() as store:
            known = {agent.agent_id: agent for agent in agents.list_agents(store)}
            links = together.list_links(store)
        return tuple(
            AgentLink(known[source], known[target], allowed_at)
            for source, target, allowed_at in links
            if source in known and target in known and agent_id in ("", source, target)
        )

    def _find_ends(self, source: str, target: str) -> tuple[Agent, Agent]:
        running = Agents(self._home)
        ends = running.find(source), running.find(target)
        if ends[0].agent_id == ends[1].agent_id:
            raise UsageInvalid("an agent is not linked to itself: name two")
        return ends

    # Notes -----------------------------------------------------------------------------------------------------------
    def list_notes(self, identity: str) -> tuple[Note, ...]:
        """Return an agent's notes by their keys. Raises AgentNotFound, RequestRefused."""
        require_right(self._home, "note ls")
        with self._home.lend_store_to_read() as store:
            return together.list_notes(store, Agents(self._home).find(identity).agent_id)

    def read_note(self, identity: str, key: str) -> Note:
        """Return a note. Raises NoteNotFound, and as `list_notes`."""
        require_right(self._home, "note get")
        with self._home.lend_store_to_read() as store:
            return together.read_note(store, Agents(self._home).find(identity).agent_id, key)

    def save_note(self, identity: str, key: str, text: str) -> Note:
        """Keep a text for an agent, without secrets that are known as such, and return it. Raises UsageInvalid."""
        with self._writing("note set") as store:
            agent = Agents(self._home).find(identity)
            together.save_note(store, agent.agent_id, check_key(key), redact(text), self._home.now())
            return together.read_note(store, agent.agent_id, key)

    def pin_note(self, identity: str, key: str, *, is_pinned: bool) -> Note:
        """Have a note be part of an agent's context from its next session on, or not. Raises NoteNotFound."""
        with self._writing("note pin") as store:
            agent = Agents(self._home).find(identity)
            together.pin_note(store, agent.agent_id, key, is_pinned=is_pinned)
            return together.read_note(store, agent.agent_id, key)

    def delete_note(self, identity: str, key: str) -> None:
        """Delete a note of an agent. Raises NoteNotFound."""
        with self._writing("note rm") as store:
            together.delete_note(store, Agents(self._home).find(identity).agent_id, key)

    # Tokens ----------------------------------------------------------------------------------------------------------
    def make_token(self, identity: str, capabilities: Sequence[str]) -> tuple[AgentToken, str]:
        """Make a token for a program of a person's and return it, and its text, which cannot be had again.

        capabilities: those of the agent that it gives; none: all. Raises UsageInvalid for one that the agent lacks.
        """
        with self._writing("token create") as store:
            agent = Agents(self._home).find(identity)
            named = parse_capabilities(capabilities) or agent.plan.capabilities
            for name in named:
                if name not in agent.plan.capabilities:
                    has = ", ".join(agent.plan.capabilities) or "none"
                    raise UsageInvalid(f"the agent {agent.name} has not the capability {name}; it has: {has}")
            if not named:
                raise UsageInvalid(f"the agent {agent.name} has no capabilities: a token of it would give nothing")
            token = make_token(store, agent, "operator", self._home.now(), named)
            return token, write_token(token, load_secret(self._home.paths.token_secret))

    def list_tokens(self, identity: str = "") -> tuple[tuple[AgentToken, str], ...]:
        """Return the tokens of an agent, or of all, each with the agent's name; the oldest first."""
        agent_id = Agents(self._home).find(identity).agent_id if identity else ""
        with self._home.lend_store_to_read() as store:
            known = {agent.agent_id: agent.name for agent in agents.list_agents(store, has_removed=True)}
            return tuple((token, known[token.agent_id]) for token in together.list_tokens(store, agent_id))

    def revoke_token(self, identity: str) -> tuple[AgentToken, str]:
        """Have the token hold no more whose id begins so, and return it with its agent's name. Raises TokenInvalid."""
        with self._writing("token revoke") as store:
            begun = [pair for pair in self.list_tokens() if identity and pair[0].token_id.startswith(identity)]
            none = TokenInvalid(f"there is no token {identity[:60]!r}: `agents token ls` lists them")
            token, _name = find_only(begun, lambda pair: pair[0].token_id, identity, "tokens", none)
            together.revoke_token(store, token.token_id, self._home.now())
        return next(pair for pair in self.list_tokens() if pair[0].token_id == token.token_id)

    @contextmanager
    def _writing(self, command: str) -> Iterator[Store]:
        require_right(self._home, command)
        self._home.refuse_if_read_only(find(command).summary)
        with self._home.lend_store() as store:
            yield store
