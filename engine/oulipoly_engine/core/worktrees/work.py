"""Sessions that work by themselves: their messages, and what an agent may be given. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.core.transcripts.turn_script import MESSAGE
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record

Lifecycle = Literal["oneshot", "persistent"]
LIFECYCLES: tuple[Lifecycle, ...] = get_args(Lifecycle)
_NAMED = 5  # sessions that one is told to wait for
TURN_SILENCE_S = 600.0  # contract B1: a turn that says nothing for so long has failed


class Repository(Record):
    """A repository that a session can be begun in."""

    root: str  # the folder of the checkout
    current: str  # the branch that is checked out; empty: HEAD is detached
    head: str  # the commit of HEAD, short; empty: it has none
    branches: tuple[str, ...] = ()  # the one with the latest commit first


class Message(Record):
    """One message: a user's, or what was answered to it."""

    message_id: str
    turn_id: str
    role: Literal["user", "assistant"]
    content: str
    created_at: int  # milliseconds since 1970 (contract A6)
    status: str = ""  # of the turn, for an answer
    parent_id: str | None = None  # the message that it follows on
    kind: str = MESSAGE
    live_turn_id: str | None = None  # the turn of ours, where `turn_id` is the message's own id


def user_id(turn_id: str) -> str:
    """Return the id of the message that a turn began with."""
    return f"{turn_id}.user"


def assistant_id(turn_id: str) -> str:
    """Return the id of the answer to a turn."""
    return f"{turn_id}.assistant"


class Parameters(Record):
    """What a session's agent is given beside its prompt."""

    cli_model: str = ""
    effort: str = ""
    profile: str = ""
    never_asks: bool = False  # codex: what its sandbox does not allow just fails
    args: tuple[str, ...] = ()


# Names of the REST contract (B1, V8) that every agent takes; a CLI with a sandbox takes more.
_COMMON = ("model", "effort", "profile")
_PROFILE_OF: Mapping[tuple[str, str], str] = {
    ("never", "danger-full-access"): "full_access",
    ("on-request", "workspace-write"): "auto_accept_edits",
    ("untrusted", "workspace-write"): "supervised",
    # Nobody is asked, and nothing outside the folder is written.
    ("never", "workspace-write"): "auto_accept_edits",
}


def allowed_parameters(kind: str) -> tuple[str, ...]:
    """Return the names that a kind of agent takes."""
    wire = WIRES.get(kind)
    if wire is None or wire.policies is None or not wire.policies.sandboxes:
        return _COMMON
    return (*_COMMON, "approval_policy", "sandbox_mode", *wire.switches)


def read_parameters(kind: str, given: Mapping[str, Any], profile: str = "") -> Parameters:
    """Check parameters against what the kind of agent takes, and against each other. Raises UsageInvalid.

    profile: as it was given beside the parameters; empty: it was not.
    """
    allowed = allowed_parameters(kind)
    switches = WIRES[kind].switches if kind in WIRES else {}
    for name, value in given.items():
        if name not in allowed:
            raise UsageInvalid(f"{name!r} is not a parameter of {kind}: {', '.join(allowed)}")
        if not isinstance(value, bool if name in switches else str):
            wanted = "true or false" if name in switches else "a text"
            raise UsageInvalid(f"the parameter {name!r} has to be {wanted}")
    args: list[str] = []
    for name, key in switches.items():
        if name in given:
            args += ["-c", f"{key}={'true' if given[name] else 'false'}"]
    policy, sandbox = str(given.get("approval_policy", "")), str(given.get("sandbox_mode", ""))
    own_profile = str(given.get("profile", ""))
    if profile and own_profile and profile != own_profile:
        raise UsageInvalid(f"profile ({profile}) and params.profile ({own_profile}) contradict each other: give one")
    profile = profile or own_profile
    if profile and (policy or sandbox):
        _refuse_contradiction(profile, policy, sandbox)
    if policy or sandbox:
        asked = (policy or "untrusted", sandbox or "workspace-write")
        named = _PROFILE_OF.get(asked)
        if named is None and not profile:
            known = ", ".join("/".join(pair) for pair in _PROFILE_OF)
            raise UsageInvalid(f"approval_policy and sandbox_mode {'/'.join(asked)} do not go together: {known}")
        profile = profile or named or ""
    never_asks = policy == "never" and profile != "full_access"
    return Parameters(str(given.get("model", "")), str(given.get("effort", "")), profile, never_asks, tuple(args))


def _refuse_contradiction(profile: str, policy: str, sandbox: str) -> None:
    """Raise UsageInvalid where a profile says another thing than a policy and a sandbox, of which one may be empty."""
    pairs = [pair for pair, name in _PROFILE_OF.items() if name == profile]
    if any(policy in ("", pair[0]) and sandbox in ("", pair[1]) for pair in pairs):
        return
    words = {"approval_policy": policy, "sandbox_mode": sandbox}
    named = " and ".join(f"{name} ({word})" for name, word in words.items() if word)
    raise UsageInvalid(f"profile ({profile}) and {named} contradict each other: give one")


def log_hint(kind: str, home: str, native_id: str) -> str:
    """Return where a CLI keeps what it writes itself about a session; empty: nobody knows.

    home: its own folder; empty: the usual one.
    """
    log = WIRES[kind].own_log if kind in WIRES else None
    if log is None:
        return ""
    return f"{home or log.home}/{log.pattern.format(id=native_id or '*')}"


def describe_wait(running: Sequence[str], most: int) -> str:
    """Say that a session waits for a free place. running: the ids of those that run. most: how many may run at once."""
    names = ", ".join(session_id[:8] for session_id in running[:_NAMED])
    if len(running) > _NAMED:
        names += f" and {len(running) - _NAMED} more"
    return f"it waits for a free place: {len(running)} of {most} sessions run ({names})"
