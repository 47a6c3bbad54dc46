"""Live sessions, open requests, models and queued messages as rows of lists. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.live.events import ModelInfo
from oulipoly_engine.core.live.permissions import OWN_SETTINGS, Profile, choose_policy
from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.core.sessions.facets import STATUSES, WAITS, Facets
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_tui.view import words
from oulipoly_tui.view.live.request_lines import KINDS
from oulipoly_tui.view.transcript.spans import Line, Row, Tone, cells, cut, fit_text

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_tui.view.live.conversation import Queued

_TONES: Mapping[str, Tone] = {
    "queued": "dim",
    "starting": "dim",
    "running": "accent",
    "waiting_input": "good",
    "closing": "dim",
    "recoverable": "warn",
    "fenced": "bad",
    "closed": "dim",
    "failed": "bad",
    "canceled": "dim",
    "timed_out": "bad",
}
WAITING: tuple[str, Tone] = (WAITS, "warn")
_STATE_WIDTH = 16


def state_words(status: LiveStatus) -> tuple[str, Tone]:
    """Return how a session stands, in the words that are used everywhere."""
    return WAITING if status.pending_approval else status_words(status.word)


def status_words(status: str) -> tuple[str, Tone]:
    """Return a status in the words that are used everywhere, and its tone."""
    return STATUSES.get(status) or visible_line(status), _TONES.get(status, "")


def facets_words(facets: Facets) -> tuple[str, Tone]:
    """Return the same of a session in the list of all."""
    return WAITING if facets.is_waiting else status_words(facets.status)


def name_of(status: LiveStatus) -> str:
    """Return what a session is called."""
    session = status.session
    return visible_line(session.title) or f"{session.runtime_id} {session.session_id[:8]}"


def session_rows(found: Sequence[LiveStatus], width: int, now: datetime) -> tuple[Row, ...]:
    """Return a row a live session, those that wait for somebody first."""
    ordered = sorted(found, key=lambda one: not one.pending_approval)
    return tuple(Row(one.session.session_id, _session_line(one, width, now)) for one in ordered)


def _session_line(one: LiveStatus, width: int, now: datetime) -> Line:
    state, tone = state_words(one)
    aside = f"  {one.session.account or one.session.runtime_id} · {words.age(one.session.updated_at, now)}"
    room = max(10, width - _STATE_WIDTH - cells(aside))
    return ((fit_text(state, _STATE_WIDTH), tone), (fit_text(name_of(one), room), ""), (visible_line(aside), "dim"))


def request_rows(found: Sequence[LiveRequest], names: Mapping[str, str], width: int, now: datetime) -> tuple[Row, ...]:
    """Return a row an open request, the oldest first. names: of sessions, by their ids."""
    rows = []
    for one in found:
        who = visible_line(names.get(one.session_id, one.session_id[:8]) or one.asker_name)
        age = f"  {words.age(one.created_at, now)}"
        head = f"{cut(who, max(8, width // 4))} wants to {KINDS.get(one.kind, 'ask')}: "
        what = visible_line(one.prompt.title or one.prompt.command)
        text = cut(what, max(8, width - cells(head) - cells(age)))
        rows.append(Row(one.request_id, ((head, "warn"), (text, ""), (age, "dim"))))
    return tuple(rows)


_STARTS: Mapping[Profile, tuple[str, str]] = {
    "supervised": ("live", "asks before commands and edits"),
    "auto_accept_edits": ("live, edits accepted", "asks before commands alone"),
    "full_access": ("live, full access", "asks nothing"),
}


def start_rows(kind: str, *, has_terminal: bool = True) -> tuple[Row, ...]:
    """Return the ways in which a CLI is talked to: in a terminal, or live with one of the permission profiles.

    kind: of the runtime, which says what a profile comes to; empty: it is not known.
    """
    live = ((profile, name, _start_words(kind, profile, said)) for profile, (name, said) in _STARTS.items())
    rows = (*((("terminal", "terminal", "the CLI's own screen"),) if has_terminal else ()), *live)
    return tuple(Row(key, ((fit_text(name, 22), ""), (said, "dim"))) for key, name, said in rows)


def _start_words(kind: str, profile: Profile, said: str) -> str:
    policy = choose_policy(kind, profile)
    if not kind:
        return said
    if not policy.policy:
        return f"{said}, if it can" if WIRES[kind].modes else OWN_SETTINGS
    if policy.quality == "stricter_fallback":
        return f"nearest to it: {policy.policy}, {policy.sandbox}".rstrip(", ")
    return said


def model_rows(models: Sequence[ModelInfo], current: str) -> tuple[Row, ...]:
    """Return a row a model that the session's CLI offers."""
    return tuple(
        Row(
            one.id,
            (
                ("● " if one.id == current else "  ", "accent"),
                (fit_text(visible_line(one.name or one.id), 24), ""),
                (f"  {visible_line(one.description)}", "dim"),
            ),
        )
        for one in models
    )


def queue_rows(found: Sequence[Queued], width: int) -> tuple[Row, ...]:
    """Return a row a message that waits, the next one first."""
    return tuple(
        Row(
            one.message_id,
            (
                (f"{place}. ", "dim"),
                (cut(visible_line(" ".join(one.text[:400].split())), max(8, width - 4)), ""),
                (f"  {visible_line(one.note)}" if one.note else "", "dim"),
            ),
        )
        for place, one in enumerate(found, 1)
    )
