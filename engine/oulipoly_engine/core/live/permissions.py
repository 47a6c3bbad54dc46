"""Permission profiles: what a session may do without asking. Pure (contract, B.7).

A profile is ours; each CLI has policies of its own, and this is the one table between them, which the drivers read.
What is in force is the stricter of the two where both are given: nothing here lets a CLI do more than its profile says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from oulipoly_engine.records import Record, field, replace

Profile = Literal["supervised", "auto_accept_edits", "full_access"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
OF_NEW_SESSIONS: Profile = "supervised"  # where nobody has named another: a person is there to answer
OWN_SETTINGS = "its own settings decide"  # of a CLI that cannot be told what to ask for
UNNAMED: Profile = "full_access"  # of options that name none, as those of before there were profiles (contract, B.7)


# stricter_fallback: the CLI has no such policy, the next stricter one is taken. legacy_narrowed: one that was written
# down earlier is stricter, and is kept.
Quality = Literal["exact", "stricter_fallback", "legacy_narrowed"]


class Policy(Record):
    """What is in force."""

    profile: Profile
    policy: str  # in the CLI's own word; empty: the CLI has none, its own settings decide
    quality: Quality = "exact"
    note: str = ""  # why it is not what somebody asked for
    sandbox: str = ""  # of codex: what its commands reach


class _Policies(Record):
    """One CLI's policies."""

    by_profile: Mapping[Profile, tuple[str, Quality]]
    ranks: Mapping[str, int]  # the higher, the stricter
    sandboxes: Mapping[Profile, str] = field(default_factory=dict)


# Codex has no policy that accepts edits and asks for commands. The contract supervises it by `on-request`; codex 0.169
# asks then only when the model wants more than the sandbox allows, and a refused write is just a command that failed.
# `untrusted` asks before every change of a file and before every command that is not known to be safe (seen 2026-11).
_CODEX = _Policies(
    {
        "full_access": ("never", "exact"),
        "auto_accept_edits": ("on-request", "stricter_fallback"),
        "supervised": ("untrusted", "exact"),
    },
    {"never": 0, "on-request": 1, "unless-trusted": 1, "on-failure": 1, "untrusted": 2, "always": 2, "ask": 2},
    {
        "full_access": "danger-full-access",
        "auto_accept_edits": "workspace-write",
        "supervised": "workspace-write",
    },
)
_KINDS: Mapping[str, _Policies] = {
    "codex": _CODEX,
    "codex-proto": _CODEX,
    "claude": _Policies(
        {
            "full_access": ("bypassPermissions", "exact"),
            "auto_accept_edits": ("acceptEdits", "exact"),
            "supervised": ("default", "exact"),
        },
        {"bypassPermissions": 0, "acceptEdits": 1, "default": 2, "ask": 2},
    ),
}

_LIKE: Mapping[str, str] = {"codex-proto": "codex"}

# Modes by which agents of ACP do what a profile says; where one has none of them, its own settings decide.
# Source: gemini 0.61.0, claude-agent-acp 0.49.0, codex-acp 2.6.0, seen 2026-11. opencode has none of the kind.
AGENT_MODES: Mapping[Profile, tuple[str, ...]] = {
    "full_access": ("bypassPermissions", "yolo", "agent-full-access"),
    "auto_accept_edits": ("acceptEdits", "autoEdit", "workspace-write"),
    "supervised": ("default", "read-only"),
}


def choose_policy(kind: str, profile: Profile | None, legacy: str = "") -> Policy:
    """Return the policy for a profile. kind: of the runtime. legacy: a CLI's own policy that was chosen earlier.

    profile: None: the options name none, and `UNNAMED` holds. A new session is never without: `OF_NEW_SESSIONS`.
    """
    chosen, legacy = profile or UNNAMED, legacy.strip()
    known = _KINDS.get(_LIKE.get(kind, kind))
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
    known = {_LIKE.get(kind, kind) for kind in kinds}
    return profile != OF_NEW_SESSIONS or not known or not known <= _KINDS.keys()


def read_profile(word: object) -> Profile:
    """Return the profile that a session was begun with; of a word that is none, that of new sessions."""
    return next((profile for profile in PROFILES if profile == word), OF_NEW_SESSIONS)


def describe_policy(profile: str, told: str, kind: str = "") -> str:
    """Return what is in force for people: the profile, and in brackets the CLI's own word for it where it has one.

    told: the policy as the CLI or its driver has told it last. kind: of a runtime that has told what it does; one
    without policies, that has told none, does not follow the profile.
    """
    if kind and not told and kind not in _KINDS:
        return OWN_SETTINGS
    name = profile.replace("_", " ")
    return (f"{name} ({told})" if name else told) if told and told not in (profile, name) else name


def _keep_unknown(own: Policy, legacy: str) -> Policy:
    """Nobody knows how strict it is: where nothing is forbidden anyway, it may stay."""
    if own.profile == "full_access":
        return replace(own, policy=legacy, note=f"the policy {legacy!r} is not known here, and is kept")
    return replace(own, note=f"the policy {legacy!r} is left out: it is not known here, and may broaden {own.profile}")
