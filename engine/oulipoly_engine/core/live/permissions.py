"""Permission profiles: what a session may do without asking. Pure (contract, B.7).

A profile is ours; each wire has policies of its own, which stand in its bundle and which the drivers read.
What is in force is the stricter of the two where both are given: nothing here lets a CLI do more than its profile says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.core.live.wires.wire import Profile as Profile
from oulipoly_engine.core.live.wires.wire import Quality
from oulipoly_engine.records import Record, replace

PROFILES: tuple[Profile, ...] = get_args(Profile)
OF_NEW_SESSIONS: Profile = "supervised"  # where nobody has named another: a person is there to answer
OWN_SETTINGS = "its own settings decide"  # of a CLI that cannot be told what to ask for
UNNAMED: Profile = "full_access"  # of options that name none, as those of before there were profiles (contract, B.7)


class Policy(Record):
    """What is in force."""

    profile: Profile
    policy: str  # in the CLI's own word; empty: the CLI has none, its own settings decide
    quality: Quality = "exact"
    note: str = ""  # why it is not what somebody asked for
    sandbox: str = ""  # of codex: what its commands reach


def choose_policy(kind: str, profile: Profile | None, legacy: str = "") -> Policy:
    """Return the policy for a profile. kind: of the runtime. legacy: a CLI's own policy that was chosen earlier.

    profile: None: the options name none, and `UNNAMED` holds. A new session is never without: `OF_NEW_SESSIONS`.
    """
    chosen, legacy = profile or UNNAMED, legacy.strip()
    wire = WIRES.get(kind)
    known = None if wire is None else wire.policies
    if known is None:
        return Policy(chosen, "", note="" if chosen == "full_access" else "the agent's own settings say when it asks")
    policy, quality = known.by_profile[chosen]
    own = Policy(chosen, policy, quality, sandbox=known.sandboxes.get(chosen, ""))
    if not legacy or legacy == policy:
        return own
    rank, least = known.ranks.get(legacy), known.ranks[policy]
    if rank is None:
        return _keep_unknown(own, legacy)
    if rank < least:
        return replace(own, note=f"the policy {legacy!r} is left out: it would broaden {chosen}")
    return replace(own, policy=legacy, quality="legacy_narrowed" if rank > least else quality)


def acts_unasked(kinds: Iterable[str], profile: str) -> bool:
    """Return whether a session may do something that its agent asks nobody for.

    kinds: of the runtimes that may get it; none: nobody knows. A CLI without policies does as its own settings say.
    """
    given = tuple(kinds)
    return profile != OF_NEW_SESSIONS or not given or not all(map(_has_policies, given))


def read_profile(word: object) -> Profile:
    """Return the profile that a session was begun with; of a word that is none, that of new sessions."""
    return next((profile for profile in PROFILES if profile == word), OF_NEW_SESSIONS)


def describe_policy(profile: str, told: str, kind: str = "") -> str:
    """Return what is in force for people: the profile, and in brackets the CLI's own word for it where it has one.

    told: the policy as the CLI or its driver has told it last. kind: of a runtime that has told what it does; one
    without policies, that has told none, does not follow the profile.
    """
    if kind and not told and not _has_policies(kind):
        return OWN_SETTINGS
    name = profile.replace("_", " ")
    return (f"{name} ({told})" if name else told) if told and told not in (profile, name) else name


def _keep_unknown(own: Policy, legacy: str) -> Policy:
    """Nobody knows how strict it is: where nothing is forbidden anyway, it may stay."""
    if own.profile == "full_access":
        return replace(own, policy=legacy, note=f"the policy {legacy!r} is not known here, and is kept")
    return replace(own, note=f"the policy {legacy!r} is left out: it is not known here, and may broaden {own.profile}")


def _has_policies(kind: str) -> bool:
    return kind in WIRES and WIRES[kind].policies is not None
