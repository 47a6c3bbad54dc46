"""A session that its CLI has recorded, made a live one: it goes on through the CLI's own protocol, where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.live.launch.catalogue import Catalogue
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions
from oulipoly_engine.core.sessions.resolve import OF_FILES
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import AccountUnusable, RequestRefused, SessionNotFound
from oulipoly_engine.records import asdict
from oulipoly_engine.service.sessions.locate import find_typed
from oulipoly_engine.service.sessions.owner import refuse_open
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions, probes
from oulipoly_engine.store.sessions.sessions import list_sessions


def adopt(
    store: Store, identity: str, catalogue: Catalogue, accounts: Mapping[str, Account], now: datetime
) -> LiveSession | None:
    """Return a recorded session as a live one that was written down, under the same id; None: there is none.

    Raises AccountUnusable where its account cannot be driven or cannot resume, SessionBusy where its CLI has it open,
    RequestRefused where its folder is not known or not there.
    """
    try:
        chain = find_typed(store, identity, now)
    except SessionNotFound:
        return None
    if chain.account == OF_FILES:
        raise AccountUnusable(
            "an imported session lies on no account: `agents session fork "
            f"{chain.chain_id} --to RUNTIME` goes on with what was said in it"
        )
    (listed,) = list_sessions(store, (chain.chain_id,))
    runtime = catalogue.find_for_account(chain.account)
    if runtime is None or not driver_of(runtime.kind).resumes:
        raise AccountUnusable(
            f"the account {chain.account!r} of this session has no CLI that can be driven and goes on with sessions: "
            "`agents runtime list` lists those that have"
        )
    if listed.workspace is None or not Path(listed.workspace).is_dir():
        raise RequestRefused(f"the folder of this session is not there: {listed.workspace or 'nobody knows it'}")
    refuse_open(accounts.get(chain.account), chain.session_id, listed.active.transcript)
    probe = probes.read_all(store).get(runtime.id)
    can = {} if probe is None else probe.probe.capabilities
    can = can or asdict(driver_of(runtime.kind)(Opening(cwd=listed.workspace, new_id="")).capabilities)
    able = tuple(name for name, is_able in can.items() if is_able)
    session = LiveSession(
        session_id=chain.chain_id,
        workspace=listed.workspace,
        runtime_id=runtime.id,
        runtime_kind=runtime.kind,
        model_name=chain.model,
        created_at=from_text(listed.first_used_at),
        updated_at=now,
        account=runtime.account or None,
        native_id=chain.session_id,
        opening=SessionOptions(profile=OF_NEW_SESSIONS, capabilities=able, is_recorded=True),
        title=listed.title or "",
        forked_from=listed.forked_from,
    )
    with store.write():  # another process may have done it meanwhile
        others = live_sessions.find(store, session.session_id)
        if not others:
            live_sessions.insert(store, session)
    return others[0] if others else session


def find_imported(
    store: Store, identity: str, runtime: Runtime, folder: Path | None, now: datetime
) -> LiveSession | None:
    """Return an imported session as one that can be forked to a runtime; None: there is none such.

    Nothing is written down: it lies on no account, and nobody drives it. folder: where the fork is to work; None: where
    the session was. Raises RequestRefused where that is not there.
    """
    try:
        chain = find_typed(store, identity, now)
    except SessionNotFound:
        return None
    if chain.account != OF_FILES:
        return None
    (listed,) = list_sessions(store, (chain.chain_id,))
    workspace = folder or Path(listed.workspace or "")
    if not workspace.is_absolute() or not workspace.is_dir():
        raise RequestRefused(f"the folder of this session is not there: {listed.workspace or 'nobody knows it'}")
    return LiveSession(
        session_id=chain.chain_id,
        workspace=str(workspace.resolve()),
        runtime_id=OF_FILES,
        runtime_kind=runtime.kind,
        model_name=chain.model,
        created_at=from_text(listed.first_used_at),
        updated_at=now,
        native_id=chain.session_id,
        title=listed.title or "",
    )
