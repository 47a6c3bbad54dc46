"""Runs as lists show them, and which of them a query fits. Pure."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.core.runs.invocations import Status
from oulipoly_engine.core.search.query import FieldName, Query
from oulipoly_engine.core.sessions.sessions import field_fits
from oulipoly_engine.records import Record


class Spawned(Record):
    """One invocation as a tree shows it."""

    row_id: int
    uuid: str
    parent_row_id: int | None
    model: str
    account: str | None
    status: str
    session_id: str | None
    created_at: str  # RFC 3339
    finished_at: str | None
    reason: str | None  # why it ended as it did
    capture_method: str | None = None  # how its session's id was learned
    returned: tuple[str, ...] = ()  # names of artifacts, in the order of their return

    @property
    def is_resumed(self) -> bool:
        """Tell whether it went on with its session, which is older than it."""
        return self.capture_method == "resumed"

    @property
    def has_failed(self) -> bool:
        """Tell whether it ended, and not well."""
        return self.status == Status.FAILED


def run_fits(query: Query, run: Spawned, title: str = "") -> bool:
    """Tell whether a query fits a run: its words the model, account, reason, ids and its session's title.

    Every flag but `failed`, CLIs, folders and roles are of sessions alone: no run has them.
    """
    if any(value and flag != "failed" for flag, value in query.flags.items()):
        return False
    if query.failed is not None and query.failed is not run.has_failed:
        return False
    if not _is_within(query, run):
        return False
    texts: dict[FieldName, tuple[str | None, ...]] = {
        FieldName.ACCOUNT: (run.account,),
        FieldName.MODEL: (run.model,),
        FieldName.SESSION: (run.session_id,),
    }
    if not all(field_fits(field, texts.get(field.name, ())) for field in query.fields):
        return False
    words = (run.model, run.account, run.reason, run.status, run.uuid, run.session_id, title)
    haystack = "\n".join(text for text in words if text).lower()
    return all((term.text.lower() in haystack) is not term.is_negated for term in query.terms)


def _is_within(query: Query, run: Spawned) -> bool:
    if query.since is None and query.until is None:
        return True
    began = datetime.fromisoformat(run.created_at)
    return (query.since is None or began >= query.since) and (query.until is None or began < query.until)
