"""The tokens of agents: the secret that signs them, and the one that an agent's sessions have."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from oulipoly_engine.core.agents.agents import Agent
from oulipoly_engine.core.agents.tokens import LIFETIMES, SECRET_BYTES, AgentToken, Issuer, write_token
from oulipoly_engine.errors import SystemRefused
from oulipoly_engine.private_files import keep_first, make_folder
from oulipoly_engine.store.agents import together
from oulipoly_engine.store.base.db import Store


def load_secret(path: Path) -> bytes:
    """Return the secret that signs tokens; the first who asks makes it. Raises SystemRefused.

    A file that its user alone reads, as the key that signs images: no start waits for the window of a keyring.
    """
    try:
        if not path.exists():
            make_folder(path.parent)
            keep_first(path, secrets.token_bytes(SECRET_BYTES))
        secret = path.read_bytes()
    except OSError as error:
        raise SystemRefused(f"{path} cannot be used: {error.strerror or error}") from error
    if len(secret) != SECRET_BYTES:
        raise SystemRefused(f"{path} is damaged: remove it, and every token that was given away is worthless")
    return secret


def make_token(
    store: Store, agent: Agent, issuer: Issuer, now: datetime, capabilities: Sequence[str] | None = None
) -> AgentToken:
    """Note a new token of an agent and return it. capabilities: None: those of the agent."""
    issued_at = now.replace(microsecond=0)
    token = AgentToken(
        str(uuid.uuid4()),
        issuer,
        agent.agent_id,
        issued_at,
        issued_at + LIFETIMES[issuer],
        agent.plan.capabilities if capabilities is None else tuple(capabilities),
        together.list_targets(store, agent.agent_id),
    )
    together.add_token(store, token)
    return token


def ensure_agent_token(store: Store, agent: Agent, now: datetime) -> None:
    """Give an agent that has capabilities a token where it has none that holds."""
    with store.write():
        if agent.plan.capabilities and _find_holding(store, agent, now) is None:
            make_token(store, agent, "agent", now)


def write_agent_token(store: Store, secret: Path, agent: Agent, now: datetime) -> str:
    """Return the token of an agent's sessions as text; empty: it has none that holds. Raises SystemRefused."""
    token = _find_holding(store, agent, now) if agent.plan.capabilities else None
    return "" if token is None else write_token(token, load_secret(secret))


def _find_holding(store: Store, agent: Agent, now: datetime) -> AgentToken | None:
    for token in together.list_tokens(store, agent.agent_id):
        if token.issuer == "agent" and token.revoked_at is None and now < token.expires_at:
            return token
    return None
