"""Which chain, account and session an id means, and with which model it goes on (contract, 5.2). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Model, group_name
from oulipoly_engine.errors import SessionAmbiguous, SessionIdInvalid, SessionNotFound
from oulipoly_engine.records import Record

OF_FILES = "(file)"  # stands where other sessions have their account; no account can be called so
UNKNOWN_MODEL = "<unknown>"  # of a chain that was found, not started by us
RECENT = timedelta(hours=24)  # several chains used within this are too many to choose from
MINIMUM_PREFIX = 4  # characters; fewer are a slip of the finger
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_OPENCODE = re.compile(r"ses_[0-9A-Za-z]{8,40}")  # what opencode has in place of a UUID


class Segment(Record):
    """A chain's part on one account."""

    account: str
    session_id: str
    started_at: datetime
    ended_at: datetime | None = None  # None: active
    last_turn_id: str | None = None
    row_id: int = 0


class Chain(Record):
    """A logical session with its segments."""

    chain_id: str
    model: str  # <unknown> for an imported one
    last_used_at: datetime
    segments: tuple[Segment, ...]
    entries: int = 0  # stored entries of its active segment

    @property
    def active(self) -> Segment | None:
        """Return the open segment that was started last; of a chain with none open, the last of all."""
        return max(self.segments, key=lambda segment: (segment.ended_at is None, segment.started_at), default=None)


class ResolvedSession(Record):
    """What an id means."""

    chain_id: str
    model: str
    account: str
    session_id: str  # of the active segment
    last_used_at: datetime
    segment_row_id: int = 0


class ModelChoice(Record):
    """The model that a session goes on with."""

    name: str | None  # None: no model, the account alone
    missing: str | None = None  # the model it was made with, when no configuration has it any more


def session_uuid(text: str) -> str:
    """Return a session id in its one form: a UUID in lower case, an id of opencode as it is.

    Raises SessionIdInvalid unless it is whole, a UUID with its hyphens.
    """
    if _OPENCODE.fullmatch(text):
        return text
    lowered = text.lower()
    if not _UUID.fullmatch(lowered):
        raise SessionIdInvalid(f"{text[:80]!r} is not a session id: give the full UUID", input=text)
    return lowered


def full_id(text: str) -> str:
    """Return the id of a session to go on with, as `session_uuid` does.

    Raises SessionIdInvalid for what is not a whole id: a script must not meet another session than it means.
    """
    try:
        return session_uuid(text)
    except SessionIdInvalid as error:
        message = f"Invalid session UUID {text[:80]!r} (no prefix matching): give it whole (`session list --json`)"
        raise SessionIdInvalid(message, input=text) from error


def resolve(text: str, chains: Sequence[Chain], now: datetime) -> ResolvedSession:
    """Return what an id means, given every chain that owns it.

    Raises SessionNotFound when there is none (or none with a segment), SessionAmbiguous when more than one of them was
    used within the last 24 h; of several idle ones the latest used is taken, then the latest started.
    """
    owners = [chain for chain in chains if chain.active is not None]
    if not owners:
        message = f"no session has the id {text}: `agents session scan` finds those that other programs started"
        raise SessionNotFound(message, input=text)
    recent = [chain for chain in owners if chain.last_used_at >= now - RECENT]
    if len(recent) > 1:
        raise SessionAmbiguous(_ambiguous_text(text, owners), input=text)
    return _resolve_chain(max(owners, key=_freshness))


def resolve_typed(text: str, chains: Sequence[Chain], now: datetime) -> ResolvedSession:
    """Return what a person means by an id or by the beginning of one.

    chains: those that own an id which begins so. A whole id goes before longer ones that begin alike.
    Raises SessionNotFound and SessionAmbiguous, as `resolve` does.
    """
    wanted = text.lower()
    exact = [chain for chain in chains if wanted in {one.lower() for one in _ids(chain)}]
    if exact:  # a session of ours goes before what a CLI, or an imported file, calls so
        return resolve(text, [chain for chain in exact if chain.chain_id.lower() == wanted] or exact, now)
    if len(text) < MINIMUM_PREFIX:
        message = f"{text!r} is too short to find a session by: give {MINIMUM_PREFIX} characters of its id or more"
        raise SessionNotFound(message, input=text)
    meant = {one for chain in chains for one in _ids(chain) if one.lower().startswith(wanted)}
    if len({chain.chain_id for chain in chains}) > 1 and len(meant) > 1:
        raise SessionAmbiguous(_ambiguous_text(text, chains), input=text)
    return resolve(text, chains, now)


def choose_elsewhere(chains: Sequence[Chain], account: str) -> ResolvedSession | None:
    """Return, of several chains that have one and the same session, the one that lies not on an account.

    None where they have different sessions, or where not exactly one lies elsewhere.
    """
    active = [(chain, chain.active) for chain in chains if chain.active is not None]
    elsewhere = [chain for chain, segment in active if segment.account != account]
    is_one = len(active) > 1 and len({segment.session_id for _, segment in active}) == 1
    return _resolve_chain(elsewhere[0]) if is_one and len(elsewhere) == 1 else None


def choose_model(
    explicit: str | None, invoked: str | None, chain_model: str, configured: Collection[str]
) -> ModelChoice:
    """Return the model that a session goes on with: the one asked for, that of its last run, that of its chain.

    invoked: the model of the chain's latest invocation; `<unknown>` and models that are gone are passed over.
    """
    if explicit is not None:
        return ModelChoice(explicit)
    named = [name for name in (invoked, chain_model) if name is not None and group_name(name)[0] != UNKNOWN_MODEL]
    known = next((name for name in named if name in configured), None)
    return ModelChoice(known, missing=named[0] if known is None and named else None)


def pool_refusal(session_id: str, account: str, model: str, models: Mapping[str, Model]) -> str | None:
    """Return why an account cannot go on with a session under a model, None when it is in the model's pool."""
    holders = sorted(
        name for name, entry in models.items() if any(member.account == account for member in entry.members)
    )
    if model in holders:
        return None
    others = f"models that have it: {', '.join(holders)}" if holders else "no model has it in its pool"
    return f"session {session_id} lies on account {account!r}, which is not in the pool of model {model!r}; {others}"


def _ids(chain: Chain) -> tuple[str, ...]:
    return (chain.chain_id, *(segment.session_id for segment in chain.segments))


def _freshness(chain: Chain) -> tuple[datetime, datetime, str]:
    return chain.last_used_at, max(segment.started_at for segment in chain.segments), chain.chain_id


def _resolve_chain(chain: Chain) -> ResolvedSession:
    active = chain.active
    assert active is not None  # noqa: S101 - chains without segments were left out
    return ResolvedSession(
        chain.chain_id, chain.model, active.account, active.session_id, chain.last_used_at, active.row_id
    )


def _ambiguous_text(text: str, chains: Sequence[Chain]) -> str:
    lines = [f"{len(chains)} sessions have the id {text}:"]
    for chain in sorted(chains, key=_freshness, reverse=True):
        account = chain.active.account if chain.active is not None else "-"
        lines.append(f"  {chain.chain_id}  last used {to_text(chain.last_used_at)}  {account}  {chain.entries} turns")
    lines.append("run it again with one of these ids")
    active = [chain.active for chain in chains if chain.active is not None]
    if len({one.session_id for one in active}) == 1 < len({one.account for one in active}):
        lines.append(f"if one is a copy of the other: `session move {active[0].session_id} ACCOUNT` joins them")
    return "\n".join(lines)
