"""A one-shot's beginning and end in the outbox, each in the transaction that writes it. Only where somebody reads."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.core.outbox.topics import cut_text
from oulipoly_engine.core.runs.invocations import Invocation, Outcome, Status
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.outbox.events import publish
from oulipoly_engine.store.runs import invocations


def publish_begin(store: Store, row_id: int, prompt: str) -> None:
    """Tell that a run begins, and of its prompt, which is without secrets."""
    run = invocations.read(store, row_id)
    if run is None:
        return
    body = {"kind": "one-shot", "account": run.account, "model": run.model, "workspace": run.working_directory}
    publish(store, "session_started", run.created_at, run.uuid, body | {"native_id": run.session_id or ""})
    publish(store, "message_sent", run.created_at, run.uuid, {"turn_id": run.uuid, "text": cut_text(prompt)})


def publish_end(store: Store, row_id: int, outcome: Outcome, answer: Callable[[], str]) -> None:
    """Tell how a run ends that has not ended yet, and what it has answered."""
    run = invocations.read(store, row_id)
    if run is None or run.status is not Status.RUNNING:
        return
    text = answer()
    if text:
        body = {"turn_id": run.uuid, "text": cut_text(text), "phase": ""}
        publish(store, "message_received", outcome.finished_at, run.uuid, body)
    reason = "done"
    if not outcome.success:
        reason = outcome.error_category or outcome.terminal_reason or "failed"
        _publish_error(store, run, outcome, reason)
    end = {"kind": "one-shot", "reason": reason, "exit_code": outcome.exit_code}
    publish(store, "session_ended", outcome.finished_at, run.uuid, end)


def _publish_error(store: Store, run: Invocation, outcome: Outcome, code: str) -> None:
    message = redact(cut_text(outcome.error_text or ""))
    publish(store, "error", outcome.finished_at, run.uuid, {"turn_id": run.uuid, "code": code, "message": message})
