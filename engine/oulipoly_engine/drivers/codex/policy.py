"""What codex may do without asking, by permission profile. Pure.

Source: codex 0.169, seen 2026-11. `on-request` asks only when the model asks for more than the sandbox allows: a
refused write is just a command that failed. `untrusted` asks before every command that is not known to be safe and
before every change of a file, so it alone supervises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.live.permissions import Profile
from oulipoly_engine.drivers.codex import fields
from oulipoly_engine.drivers.codex.fields import Json
from oulipoly_engine.records import Record


class Policy(Record):
    """Codex's words for a profile."""

    approval: str
    sandbox: str  # as thread/start takes it
    sandbox_type: str  # the same as turn/start takes it


_POLICIES: Mapping[Profile, Policy] = {
    "full_access": Policy("never", "danger-full-access", "dangerFullAccess"),
    "auto_accept_edits": Policy("on-request", "workspace-write", "workspaceWrite"),
    "supervised": Policy("untrusted", "workspace-write", "workspaceWrite"),
}
_SANDBOX_NAMES = {
    "dangerFullAccess": "danger-full-access",
    "workspaceWrite": "workspace-write",
    "readOnly": "read-only",
}


def policy_of(profile: Profile) -> Policy:
    """Return what a profile is for codex."""
    return _POLICIES[profile]


def sandbox_of_turns(policy: Policy, told: Json) -> dict[str, Any]:
    """Return the sandbox that is sent with every turn, since what a turn overrides stays so for later ones.

    told: the sandbox that codex has opened the thread with. Where it is of the kind that was asked for, it goes on as
    it is: it carries what the user's own config.toml says of the network and of further folders.
    """
    if fields.text(told, "type") == policy.sandbox_type:
        return dict(told)
    if policy.sandbox_type == "workspaceWrite":
        return {"type": policy.sandbox_type, "writableRoots": [], "networkAccess": False}
    return {"type": policy.sandbox_type}


def describe(approval: Json, sandbox: Json) -> str:
    """Return the permissions in force as one text, such as `untrusted, workspace-write, network`; empty if not told."""
    kind = fields.text(sandbox, "type")
    words = (
        approval if isinstance(approval, str) else "",
        _SANDBOX_NAMES.get(kind, kind),
        "network" if fields.is_set(sandbox, "networkAccess") else "",
    )
    return ", ".join(word for word in words if word)
