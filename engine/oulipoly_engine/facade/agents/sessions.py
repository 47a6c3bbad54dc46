"""The sessions of agents: listed, deleted, and another answer asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from oulipoly_engine.core.transcripts.entry_text import passages
from oulipoly_engine.core.transcripts.turn_script import MESSAGE
from oulipoly_engine.errors import LiveSessionNotFound, RequestRefused, SessionNotFound
from oulipoly_engine.facade.agents.work import AgentWork
from oulipoly_engine.facade.base.agent_rights import require_right
from oulipoly_engine.facade.base.home import find_only
from oulipoly_engine.service.sessions.locate import find_typed
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts.entry_pages import by_row

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.branches import SessionBranches, SessionTree

_USER = "user"


class AgentSessions(AgentWork):
    """The agents of one user, what they do, and what was said with them."""

    def list_sessions(self, identity: str) -> tuple[LiveStatus, ...]:
        """Return how the sessions of an agent stand, the newest first, without deleted ones. Raises AgentNotFound."""
        agent = self.find(identity)
        with self._home.lend_store_to_read() as store:
            ids = [each for each in agents.list_sessions(store, agent.agent_id) if not self._is_deleted(store, each)]
        statuses = self._live().describe(ids)
        return tuple(statuses[session_id] for session_id in ids if session_id in statuses)

    def delete_session(self, identity: str, session: str) -> tuple[str, bool]:
        """Delete a session of an agent, as `session delete` does; return its id, and whether it was there until now.

        session: its id, or the beginning of one. Raises AgentNotFound, LiveSessionNotFound, IdAmbiguous,
        RequestRefused while a turn runs, and where nothing was said in it.
        """
        from oulipoly_engine.facade.sessions.archive import SessionArchive  # noqa: PLC0415 - 10 ms, few ask for it

        self._home.refuse_if_read_only("delete a session")
        agent = self.find(identity)
        require_right(self._home, "agent rm", agent)
        with self._home.lend_store_to_read() as store:
            ids = agents.list_sessions(store, agent.agent_id)
            none = LiveSessionNotFound(f"the session {session[:80]!r} is not one of the agent {agent.name}")
            matches = [each for each in ids if session and each.startswith(session)]
            session_id = find_only(matches, str, session, "sessions", none)
            if self._is_deleted(store, session_id):
                return session_id, False
        self._branches().end_process(session_id)
        SessionArchive(self._home).delete(session_id)
        return session_id, True

    def _branches(self) -> SessionBranches:
        """Return the trees of sessions."""
        from oulipoly_engine.facade.sessions.branches import SessionBranches  # noqa: PLC0415 - 17 ms, few ask for it

        return SessionBranches(self._home)

    def _is_deleted(self, store: Store, session_id: str) -> bool:
        with suppress(SessionNotFound):  # nothing was said in it yet
            chain_id = find_typed(store, session_id, self._home.now()).chain_id
            return any(listed.deleted_at is not None for listed in list_sessions(store, (chain_id,)))
        return False

    def go_back(self, identity: str, session: str = "") -> tuple[str, str]:
        """Have a session of an agent go on before its last message; return the session's id, and that message.

        Sent again, the message gets another answer, as a branch of the session's tree. If the session was taken back
        to before a message already, which whoever was killed in between leaves, that one is meant. session: its id, or
        the beginning of one; empty: the newest. Raises LiveSessionNotFound, RequestRefused and as `find_session`.
        """
        self._home.refuse_if_read_only("branch a session")
        if not session:
            listed = self.list_sessions(identity)
            if not listed:
                raise LiveSessionNotFound(f"nothing was said with the agent {identity[:80]} yet: prompt it first")
            session = listed[0].session.session_id
        session_id = self.find_session(identity, session).session_id
        branches = self._branches()
        branches.end_process(session_id)  # by then all is written that is to be read
        tree = branches.tree(session_id, "all")
        entry_id = _find_last_message(tree)
        text = self._read_text(tree, entry_id)
        if not text.strip():
            raise RequestRefused(f"the session {session_id} has no message that could be sent again")
        parent = tree.parents.get(entry_id, "")
        if parent != (tree.leaf or ""):
            branches.branch(session_id, parent)
        return session_id, text

    def _read_text(self, tree: SessionTree, entry_id: str) -> str:
        """Return what somebody has typed, without what we have said before it; empty: there is no such entry."""
        rows = [row for row, each in zip(tree.columns.rows, tree.columns.ids, strict=True) if each == entry_id]
        with self._home.lend_store_to_read() as store:
            return "\n".join(
                passage.text for entry in by_row(store, rows) for passage in passages(entry.body) if passage.is_plain
            )


def _find_last_message(tree: SessionTree) -> str:
    """Return the id of the user's last message up to the leaf, or of one that hangs at it; empty: there is none."""
    entries = {entry.entry_id: entry for entry in tree.entries if not entry.is_sidechain}
    messages = [entry for entry in entries.values() if entry.role == _USER and entry.kind == MESSAGE]
    behind_leaf = [entry for entry in messages if (entry.parent_id or "") == (tree.leaf or "")]
    if behind_leaf:
        return max(behind_leaf, key=lambda entry: entry.at).entry_id
    ids = {entry.entry_id for entry in messages}
    place = tree.leaf or ""
    while place and place not in ids:
        place = tree.parents.get(place, "")
    return place
