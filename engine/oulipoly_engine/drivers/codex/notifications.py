"""Codex's notifications as events, but for those that begin or end a turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oulipoly_engine.core.live.events import (
    AnyEvent,
    DiffUpdated,
    NameChanged,
    Notice,
    SettingsChanged,
    UsageUpdated,
)
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.codex import items, policy, readings
from oulipoly_engine.drivers.codex.turn import Turn
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.records import replace

Params = Mapping[str, Json]
Events = tuple[AnyEvent, ...] | None  # None: the message lacks what it needs, or belongs to a turn that is over


def project(method: str, params: Params, turn: Turn | None) -> Events:
    """Return what a notification tells; None where nothing is made of it. turn: the running one."""
    if turn is not None and not turn.has(fields.text(params, "turnId")):
        turn = None
    if method in _OF_TURNS or method in items.DELTAS:
        return None if turn is None else _OF_TURNS.get(method, _read_delta)(method, params, turn)
    if method == "thread/tokenUsage/updated":
        return _read_tokens(params, turn)
    reader = _OF_SESSIONS.get(method)
    return None if reader is None else reader(method, params)


def _read_item(method: str, params: Params, turn: Turn) -> Events:
    is_over = method == "item/completed"
    item = items.decode_item(fields.mapping(params, "item"), is_over=is_over)
    if item is None:
        return None
    return tuple(turn.end_item(item) if is_over else turn.start_item(item))


def _read_delta(method: str, params: Params, turn: Turn) -> Events:
    identity, delta = fields.text(params, "itemId"), items.DELTAS[method]
    if not identity:
        return None
    if delta.kind == "command" and fields.text(params, "stream") == "stderr":
        delta = replace(delta, stream="stderr")
    return tuple(turn.add_text(identity, delta, items.decode_delta(method, params)))


def _read_patch(_: str, params: Params, turn: Turn) -> Events:
    identity = fields.text(params, "itemId")
    return tuple(turn.change_files(identity, items.decode_changes(params))) if identity else None


def _read_plan(_: str, params: Params, turn: Turn) -> Events:
    return tuple(turn.change_plan(params))


def _read_diff(_: str, params: Params, turn: Turn) -> Events:
    diff = params.get("diff")
    if not isinstance(diff, str):
        return None
    return (DiffUpdated(diff, turn_id=turn.own_id),) if turn.take_diff(diff) else ()


def _read_tokens(params: Params, turn: Turn | None) -> Events:
    told = fields.mapping(params, "tokenUsage")
    if not told:
        return None
    total = readings.decode_usage(told, "total")
    if turn is not None:
        turn.take_usage(total, readings.decode_usage(told, "last"))
    return (UsageUpdated(total, turn_id="" if turn is None else turn.own_id),)


def _read_limits(_: str, params: Params) -> Events:
    seen = readings.decode_quota(params)
    return None if seen is None else (seen,)


def _read_name(_: str, params: Params) -> Events:
    return (NameChanged(fields.text(params, "threadName", "name")),)


def _read_settings(_: str, params: Params) -> Events:
    told = fields.mapping(params, "threadSettings")
    in_force = policy.describe(told.get("approvalPolicy"), fields.mapping(told, "sandboxPolicy"))
    return (SettingsChanged(fields.text(told, "model"), in_force),)


def _read_rerouting(_: str, params: Params) -> Events:
    asked, other = fields.text(params, "fromModel"), fields.text(params, "toModel")
    return (Notice(f"codex answers with {other} instead of {asked}", level="warning", code="model_rerouted"),)


def _read_warning(method: str, params: Params) -> Events:
    text, details = fields.text(params, "message", "summary"), fields.text(params, "details")
    level = "info" if method == "deprecationNotice" else "warning"
    return (Notice(f"{text} {details}".strip(), level=level, code=method),) if text else None


_OF_TURNS: Mapping[str, Callable[[str, Params, Turn], Events]] = {
    "item/started": _read_item,
    "item/completed": _read_item,
    "item/fileChange/patchUpdated": _read_patch,
    "turn/plan/updated": _read_plan,
    "turn/diff/updated": _read_diff,
}
_OF_SESSIONS: Mapping[str, Callable[[str, Params], Events]] = {
    "thread/name/updated": _read_name,
    "thread/settings/updated": _read_settings,
    "account/rateLimits/updated": _read_limits,
    "model/rerouted": _read_rerouting,
    "warning": _read_warning,
    "guardianWarning": _read_warning,
    "configWarning": _read_warning,
    "deprecationNotice": _read_warning,
}
