"""Permission profiles: what a session may do without asking. Pure (contract, B.7).

A profile is ours; each CLI has policies of its own. What is in force is the stricter of the two where both are given:
nothing here lets a CLI do more than its profile says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from oulipoly_engine.records import Record

Profile = Literal["supervised", "auto_accept_edits", "full_access"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
# stricter_fallback: the CLI has no such policy, the next stricter one is taken. legacy_narrowed: one that was written
# down earlier is stricter, and is kept.
Quality = Literal["exact", "stricter_fallback", "legacy_narrowed"]
UNCHOSEN: Profile = "full_access"  # what holds where nobody has named a profile (contract, B.7)


class Policy(Record):
    """What is in force."""

    profile: Profile
    policy: str  # in the CLI's own word; empty: the CLI has none, its own settings decide
    quality: Quality = "exact"
    note: str = ""  # why it is not what somebody asked for


class _Policies(Record):
    """One CLI's policies."""

    key: str  # of its options
    by_profile: Mapping[Profile, tuple[str, Quality]]
    ranks: Mapping[str, int]  # the higher, the stricter


# Codex has no policy that accepts edits and asks for commands, so that it asks for both.
_KINDS: Mapping[str, _Policies] = {
    "codex": _Policies(
        "approval_policy",
        {
            "full_access": ("never", "exact"),
            "auto_accept_edits": ("on-request", "stricter_fallback"),
            "supervised": ("on-request", "exact"),
        },
        {"never": 0, "on-request": 1, "unless-trusted": 1, "untrusted": 1, "on-failure": 1, "always": 2, "ask": 2},
    ),
    "claude": _Policies(
        "permission_mode",
        {
            "full_access": ("bypassPermissions", "exact"),
            "auto_accept_edits": ("acceptEdits", "exact"),
            "supervised": ("default", "exact"),
        },
        {"bypassPermissions": 0, "acceptEdits": 1, "default": 2, "ask": 2},
    ),
}


def choose_policy(kind: str, profile: Profile | None, legacy: str = "") -> Policy:
    """Return the policy for a profile. kind: of the runtime. legacy: a CLI's own policy that was chosen earlier."""
    chosen, legacy = profile or UNCHOSEN, legacy.strip()
    known = _KINDS.get(kind)
    if known is None:
        return Policy(chosen, "", note="" if chosen == "full_access" else "the agent's own settings say when it asks")
    policy, quality = known.by_profile[chosen]
    own = Policy(chosen, policy, quality)
    if not legacy or legacy == policy:
        return own
    rank, least = known.ranks.get(legacy), known.ranks[policy]
    if rank is None:
        return _keep_unknown(own, legacy)
    if rank < least:
        return Policy(chosen, policy, quality, f"the policy {legacy!r} is left out: it would broaden {chosen}")
    return Policy(chosen, legacy, "legacy_narrowed" if rank > least else quality)


def apply_profile(kind: str, options: Mapping[str, Any], profile: Profile | None) -> tuple[Mapping[str, Any], Policy]:
    """Return the options of a turn with the policy of a profile in them, and that policy; all others stay as they are.

    options: `approval_policy` of codex and `permission_mode` of claude are looked at.
    """
    known = _KINDS.get(kind)
    legacy = options.get(known.key) if known is not None else None
    policy = choose_policy(kind, profile, legacy if isinstance(legacy, str) else "")
    return (options if known is None else {**options, known.key: policy.policy}), policy


def _keep_unknown(own: Policy, legacy: str) -> Policy:
    """Nobody knows how strict it is: where nothing is forbidden anyway, it may stay."""
    if own.profile == "full_access":
        return Policy(own.profile, legacy, own.quality, f"the policy {legacy!r} is not known here, and is kept")
    note = f"the policy {legacy!r} is left out: it is not known here, and may broaden {own.profile}"
    return Policy(own.profile, own.policy, own.quality, note)
