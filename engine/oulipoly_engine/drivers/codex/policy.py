"""How codex is told what it may do without asking, and how it tells what is in force. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.live.permissions import Policy, choose_policy
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.records import replace

_TYPES: Mapping[str, str] = {  # of a sandbox: as thread/start takes it, and as turn/start does
    "danger-full-access": "dangerFullAccess",
    "workspace-write": "workspaceWrite",
    "read-only": "readOnly",
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def policy_of(opening: Opening) -> Policy:
    """Return the policy of an opening; where nobody is to be asked, its sandbox alone decides."""
    policy = choose_policy("codex", opening.profile)
    is_inside = policy.sandbox != "danger-full-access"
    return replace(policy, policy="never") if opening.never_asks and is_inside else policy


def sandbox_type(policy: Policy) -> str:
    """Return a policy's sandbox as turns take it."""
    return _TYPES[policy.sandbox]


def sandbox_of_turns(policy: Policy, told: Json) -> dict[str, Any]:
    """Return the sandbox that is sent with every turn, since what a turn overrides stays so for later ones.

    told: the sandbox that codex has opened the thread with. Where it is of the kind that was asked for, it goes on as
    it is: it carries what the user's own config.toml says of the network and of further folders.
    """
    kind = sandbox_type(policy)
    if fields.text(told, "type") == kind:
        return dict(told)
    if kind == "workspaceWrite":
        return {"type": kind, "writableRoots": [], "networkAccess": False}
    return {"type": kind}


def describe(approval: Json, sandbox: Json) -> str:
    """Return the permissions in force as one text, such as `untrusted, workspace-write, network`; empty if not told."""
    kind = fields.text(sandbox, "type")
    words = (
        approval if isinstance(approval, str) else "",
        _NAMES.get(kind, kind),
        "network" if fields.is_set(sandbox, "networkAccess") else "",
    )
    return ", ".join(word for word in words if word)
