"""Sessions as the list, the search and the app's tree show them. Pure.

Instants are RFC 3339 texts in the one fixed form, which compare as texts: ten thousand rows are read at once.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS, CLIS_BY_STORAGE
from oulipoly_engine.core.search.query import AT_RISK, Field, FieldName, Query, pattern
from oulipoly_engine.core.sessions.facets import Facets
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.records import Record

_OTHER = "other"
_NAMED = 12  # of what there is, where something was asked for that there is not


class Sort(StrEnum):
    """The orders of a list."""

    USED = "used"
    CREATED = "created"
    ENTRIES = "turns"
    NAME = "name"
    ACCOUNT = "account"
    MODEL = "model"


class Part(Record):
    """A segment of a session with what is known of its session."""

    account: str
    session_id: str
    started_at: str
    ended_at: str | None  # None: active
    entries: int = 0
    assistant_entries: int = 0
    sidechain_entries: int = 0
    side_chains: int = 0
    first_entry_at: str | None = None
    last_entry_at: str | None = None
    title: str | None = None  # from the first words of its user
    cwd: str | None = None
    cli_model: str | None = None  # the vendor's name of the model, from the transcript
    transcript: str | None = None
    size_bytes: int | None = None  # of the transcript when it was last looked at; None: it was not there
    mtime_ms: int | None = None  # as above
    forked_from: str | None = (
        None  # the CLI's id of the session whose past it begins with; None or "": it is not a fork
    )


class Session(Record):
    """A chain with its segments, in the order in which they were started."""

    chain_id: str
    model: str  # <unknown> for one that was found, not started by us
    created_at: str
    used_at: str  # of the chain
    parts: tuple[Part, ...]
    name: str | None = None
    note: str | None = None
    pinned_at: str | None = None
    deleted_at: str | None = None  # when a person has deleted it: no list has it
    has_kept_copy: bool | None = None  # whether the archive holds its active transcript; None: nobody has looked

    @property
    def active(self) -> Part:
        """Return the open segment that was started last; of a chain with none open, the last of all."""
        if len(self.parts) == 1:
            return self.parts[0]
        return max(self.parts, key=lambda part: (part.ended_at is None, part.started_at))

    @property
    def last_used_at(self) -> str:
        """Return when it was used last, by us or by its CLI."""
        if len(self.parts) == 1:  # nearly all
            return max(self.used_at, self.parts[0].last_entry_at or "")
        return max(self.used_at, *(part.last_entry_at or "" for part in self.parts))

    @property
    def first_used_at(self) -> str:
        """Return when it began: its first entry, or the chain's making where no entry is stored."""
        firsts = [part.first_entry_at for part in self.parts if part.first_entry_at is not None]
        return min((*firsts, self.created_at))

    @property
    def entries(self) -> int:
        """Return the stored entries of its active segment, which carries the whole session after a move."""
        return self.active.entries

    @property
    def workspace(self) -> str | None:
        """Return the folder that it works in, None where it is not known."""
        return self.active.cwd or next((part.cwd for part in self.parts if part.cwd is not None), None)

    @property
    def forked_from(self) -> str | None:
        """Return the CLI's id of the session whose past it begins with, None of one that is not a fork."""
        origin = self.active.forked_from or None
        return None if any(part.session_id == origin for part in self.parts) else origin  # a branch of its own

    @property
    def title(self) -> str | None:
        """Return what it may be called: the name that a person gave, else the first words of its user."""
        is_branched = self.parts[0].session_id != self.active.session_id  # one session of ours, two of its CLI
        parts = self.parts if is_branched else (self.active, *self.parts)
        return self.name or next((part.title for part in parts if part.title is not None), None)

    @property
    def shown_model(self) -> str | None:
        """Return the model that it was started with, else the vendor's name of it, else None."""
        return self.model if self.model != UNKNOWN_MODEL else self.active.cli_model


def cli_kind(account: Account | None, scripts: SessionScripts | None, transcript: str | None = None) -> str:
    """Return which CLI an account runs: claude, codex, opencode, gemini or other.

    Told by the command's name, else by its storage or its turn script, else by the place of a transcript of it.
    """
    words = [] if account is None else re.split(r"[^a-z]+", os.path.basename(account.command or "").lower())  # noqa: PTH119 - pure
    kind = next((kind for kind in ADAPTERS for word in words if word.startswith(kind)), None)
    if kind is None and account is not None and account.storage is not None:
        kind = CLIS_BY_STORAGE.get(account.storage.storage_type)
    told = "" if scripts is None else scripts.turn_script
    for text in (told, transcript or ""):
        kind = kind or next((kind for kind in ADAPTERS if kind in text.lower()), None)
    return kind or _OTHER


def purge_at(kind: str, mtime_ms: int | None, keeps_days: float | None) -> datetime | None:
    """Return when a CLI deletes a transcript on its own; None: never, or the transcript is gone.

    keeps_days: `cleanupPeriodDays` of the account's settings, None for the default. Source: Claude Code 2.1 deletes at
    its start what was changed so long ago; the other CLIs keep theirs.
    """
    default = ADAPTERS[kind].keeps_days if kind in ADAPTERS else None
    if default is None or mtime_ms is None:
        return None
    days = default if keeps_days is None else keeps_days
    try:
        return datetime.fromtimestamp(mtime_ms / 1000, UTC) + timedelta(days=days)
    except (OverflowError, ValueError, OSError):
        return None


def fits(query: Query, session: Session, kind: str) -> bool:
    """Tell whether a query fits a session: its words the name, title, note, folder, ids, account and model."""
    if not flags_fit(query, session):
        return False
    for field in query.fields:
        texts = field_texts(field.name, session, kind)
        if texts is not None and not field_fits(field, texts):
            return False
    if not query.terms:
        return True
    haystack = compose_searched_text(session, kind)
    return all((term.text.lower() in haystack) is not term.is_negated for term in query.terms)


def flags_fit(query: Query, session: Session) -> bool:
    """Tell whether a session has the dates, the pin and the sub-agent sessions that a query asks for."""
    if query.pinned is not None and query.pinned is (session.pinned_at is None):
        return False
    if query.sidechain is not None and query.sidechain is not any(part.side_chains for part in session.parts):
        return False
    return _is_dated(query, session)


def risk_fits(query: Query, purges_at: datetime | None, *, is_kept: bool) -> bool:
    """Tell whether a session is at risk as a query asks: its CLI deletes it soon, and nobody keeps a copy.

    purges_at: None: nothing deletes it, or it is gone. Only a look at the transcript tells, so `fits` does not ask.
    """
    if query.at_risk is None or query.asked_at is None:
        return True
    return query.at_risk is (purges_at is not None and not is_kept and purges_at - query.asked_at <= AT_RISK)


def failed_fits(query: Query, session: Session, failed: Collection[tuple[str, str]], facets: Facets) -> bool:
    """Tell whether a session's last run ended as a query asks, or the live session itself.

    failed: account and id of those whose last run failed.
    """
    if query.failed is None:
        return True
    has_failed_run = (session.active.account, session.active.session_id) in failed
    return query.failed is (has_failed_run or facets.status == "failed")


def field_texts(name: FieldName, session: Session, kind: str) -> tuple[str | None, ...] | None:
    """Return what a field is compared with; None for one that only entries have."""
    active = session.active
    match name:
        case FieldName.ACCOUNT:
            return (active.account,)
        case FieldName.CLI:
            return (kind,)
        case FieldName.MODEL:
            return (session.model, active.cli_model)
        case FieldName.CWD:
            return (session.workspace,)
        case FieldName.SESSION:
            return (session.chain_id, *(part.session_id for part in session.parts))
        case FieldName.ROLE:
            return None


def compose_searched_text(session: Session, kind: str) -> str:
    """Return the lower-case text in which a query's words are looked for, a line each piece."""
    active = session.active
    everything = [
        session.title,
        session.note,
        session.workspace,
        session.model,
        session.chain_id,
    ]
    everything += [kind, active.account, active.cli_model]
    for part in session.parts:
        everything += (part.title, part.session_id)
    return "\n".join(text for text in everything if text).lower()


def field_fits(field: Field, texts: Iterable[str | None]) -> bool:
    """Tell whether one of the texts fits one of a field's values, or, negated, none does."""
    found = any(_value_fits(field.name, value, text.lower()) for text in texts if text for value in field.values)
    return found is not field.is_negated


def unknown_value(field: Field, texts: Iterable[str | None]) -> str | None:
    """Say which of a field's values fits none of the texts that there are, and which those are; None: each fits one."""
    known = sorted({text for text in texts if text})
    lost = [value for value in field.values if not any(_value_fits(field.name, value, one.lower()) for one in known)]
    if field.is_negated or not lost:
        return None
    there = f"known are {', '.join(known[:_NAMED])}{' …' if len(known) > _NAMED else ''}" if known else "none is known"
    return f"no {field.name.value} fits {lost[0]!r}: {there}"


def glob_of(name: FieldName, value: str) -> str:
    """Return a field's value with `*` where the field lets it stand for a part of the whole.

    A session's id may be cut, a model's name and a folder may be any part; a folder that begins with `/` is the
    beginning, and `~` before one is left out.
    """
    if name is FieldName.CWD and value.startswith("~/"):
        value = value[1:]
        return f"*{value}*"
    if name is FieldName.SESSION:
        return value if value.endswith("*") else f"{value}*"
    if name is FieldName.CWD and value.startswith("/"):
        return value if value.endswith("*") else f"{value}*"
    return f"*{value}*" if name in (FieldName.MODEL, FieldName.CWD) else value


def sort_sessions(found: Iterable[Session], sort: Sort, *, is_reversed: bool = False) -> list[Session]:
    """Return sessions in an order: the latest, the longest or the first name first; pinned ones lead.

    is_reversed: the other way round. What has no name, or no known model, stays last either way.
    """
    keys: Mapping[Sort, Callable[[Session], object]] = {
        Sort.USED: lambda one: one.last_used_at,
        Sort.CREATED: lambda one: one.first_used_at,
        Sort.ENTRIES: lambda one: (one.entries, one.last_used_at),
        Sort.NAME: lambda one: ((one.title or "").casefold(), one.chain_id),
    }
    if sort in (Sort.ACCOUNT, Sort.MODEL):  # many are alike: the latest used first among those
        found, text = sort_sessions(found, Sort.USED), _TEXTS[sort]
        keys = {sort: lambda one: (text(one) or "").casefold()}
    listed = sorted(found, key=keys[sort], reverse=is_reversed is (sort in _TEXTS))  # type: ignore[arg-type]
    if sort in _TEXTS:
        listed.sort(key=lambda one: not _TEXTS[sort](one))
    pinned = [one for one in listed if one.pinned_at is not None]
    return [*pinned, *(one for one in listed if one.pinned_at is None)] if pinned else listed


_TEXTS: Mapping[Sort, Callable[[Session], str | None]] = {
    Sort.NAME: lambda one: one.title,
    Sort.ACCOUNT: lambda one: one.active.account,
    Sort.MODEL: lambda one: one.shown_model,
}


def title_of(texts: Iterable[str]) -> str | None:
    """Return the first words of a user that a person has typed, on one line; None where there are none.

    texts: of the user's entries, the first one first. CLIs put notes of their own before them.
    """
    for text in _drop_notes(texts):
        title = " ".join(text[:400].split())[:200]
        return title.encode("utf-8", "replace").decode() or None  # a CLI that cuts an emoji in two writes half of it
    return None


# What CLIs send in the user's name (seen in Claude Code 2.1 and Codex 0.4x to 0.16x).
_NOTES = (
    "<command-",
    "<local-command",
    "<system-reminder",
    "<environment_context",
    "<session_context",  # of Gemini
    "<user_instructions",
    "<permissions",
    "<turn_aborted",
    "<ide_",
    "<task-notification",
    "# AGENTS.md",
    "Caveat: The messages below",
    "[Request interrupted",
    "This session is being continued from a previous",
)


def _drop_notes(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        stripped = text.strip()
        if stripped and not stripped.startswith(_NOTES):
            yield stripped


def _is_dated(query: Query, session: Session) -> bool:
    if query.since is None and query.until is None:
        return True
    used = datetime.fromisoformat(session.last_used_at)
    return (query.since is None or used >= query.since) and (query.until is None or used < query.until)


def _value_fits(name: FieldName, value: str, text: str) -> bool:
    return _pattern(name, value).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _pattern(name: FieldName, value: str) -> re.Pattern[str]:
    return pattern(glob_of(name, value))
