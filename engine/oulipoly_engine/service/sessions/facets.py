"""What sessions are besides what is recorded of them: asked of the records of live sessions and of the hosts that live.

No host is asked, and nothing of live sessions themselves is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from oulipoly_engine.core.sessions.facets import FAILED, IN_TERMINAL, Facets, LiveStanding, live_facets, seems_lost
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.host import runtime_folder
from oulipoly_engine.host.runtime_folder import Held
from oulipoly_engine.paths import Paths
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs.spawned import find_failed_sessions
from oulipoly_engine.store.sessions import live_origin

_MANY = 500  # sessions of which all are asked for rather than each


def read_facets(
    store: Store,
    paths: Paths,
    sessions: Collection[Session],
    unrecorded: Collection[LiveStanding] = (),
    failed: Collection[tuple[str, str]] | None = None,
) -> Mapping[str, Facets]:
    """Return the facets of sessions by chain, without those of which nothing but `RECORDED` could be said.

    unrecorded: how those of them stand of which nothing is recorded. failed: account and id of the sessions whose last
    run failed; None: they are looked for.
    """
    chain_ids = None if len(sessions) > _MANY else [session.chain_id for session in sessions]
    standings = live_origin.list_standings(store, chain_ids) | {each.session_id: each for each in unrecorded}
    living = {held.session_id for held in runtime_folder.list_running(paths.live_runtime)} if standings else set()
    if any(seems_lost(standing, is_alive=standing.session_id in living) for standing in standings.values()):
        standings |= live_origin.list_standings(store, chain_ids)  # a host writes its end before it goes
    facets = _of_last_runs(store, sessions, failed) | _in_terminals(paths, sessions)
    for chain_id, standing in standings.items():
        is_alive = standing.session_id in living
        in_terminal = facets.get(chain_id) is IN_TERMINAL
        facets[chain_id] = live_facets(standing, is_alive=is_alive, in_terminal=in_terminal)
    return facets


def _of_last_runs(
    store: Store, sessions: Collection[Session], failed: Collection[tuple[str, str]] | None
) -> dict[str, Facets]:
    chains = {(session.active.account, session.active.session_id): session.chain_id for session in sessions}
    if failed is None:
        failed = find_failed_sessions(store, None if len(sessions) > _MANY else chains)
    return {chains[key]: FAILED for key in failed if key in chains}


def _in_terminals(paths: Paths, sessions: Collection[Session]) -> dict[str, Facets]:
    terminals = runtime_folder.list_running(paths.runtime)
    if not terminals:
        return {}
    ids = {terminal.id for terminal in terminals}
    held = {(terminal.account, terminal.session_id) for terminal in terminals}
    untold = [terminal for terminal in terminals if not terminal.session_id]

    def is_held(part: Part) -> bool:
        return (part.account, part.session_id) in held or any(_has_begun(each, part) for each in untold)

    return {
        session.chain_id: IN_TERMINAL
        for session in sessions
        if session.chain_id in ids or any(map(is_held, session.parts))
    }


def _has_begun(terminal: Held, part: Part) -> bool:
    """Tell whether a CLI that tells no id, as codex, has probably begun a session: it is of its place and time."""
    is_later = (part.first_entry_at or "") >= terminal.started_at
    return is_later and (part.account, part.cwd) == (terminal.account, terminal.cwd)


def list_unrecorded_terminals(store: Store, paths: Paths) -> tuple[Session, ...]:
    """Return the CLIs that run in a terminal and of which nothing is recorded yet, each with its terminal's id."""
    terminals = [each for each in runtime_folder.list_running(paths.runtime) if each.account]
    if not terminals:
        return ()
    from oulipoly_engine.store.sessions import chains, facts  # noqa: PLC0415 - only where a terminal lives

    known_ids = chains.find_known_ids(store, {each.session_id for each in terminals if each.session_id})

    def is_recorded(terminal: Held) -> bool:
        if terminal.session_id:
            return terminal.session_id in known_ids
        return facts.has_begun(store, terminal.account or "", terminal.cwd or "", terminal.started_at)

    return tuple(_read_terminal(each) for each in terminals if not is_recorded(each))


def _read_terminal(terminal: Held) -> Session:
    at = terminal.started_at
    part = Part(
        terminal.account or "", terminal.session_id or "", at, None, title=terminal.label or None, cwd=terminal.cwd
    )
    return Session(terminal.id, terminal.model or UNKNOWN_MODEL, at, at, (part,))
