"""Conversations in Codex' native rollout format.

Source: rollouts of Codex 0.120, seen 2026-11: the last form without ordinals, read by every later version.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from oulipoly_demo.base import ids, jsonl
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.base.conversation import Answer, Turn, kept
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tier, Tokens

_NOT_TYPED = ("<environment_context>", "<user_instructions>", "<turn_aborted>")
_CONTEXT_TOKENS = 258_400
_ORIGINATORS = {"exec": "codex_exec", "vscode": "agent-runner"}


class SessionOpen(Exception):
    """Another process writes this conversation."""


class CodexConversation:
    """One conversation and its rollout."""

    def __init__(  # what a past conversation is told beside what a present one finds out
        self,
        context: CliContext,
        session_id: str,
        path: Path,
        *,
        source: str,
        records: list[dict[str, Any]],
        new_id: Callable[[float], str] = ids.timed_uuid,
        tiers_at: Callable[[float], tuple[Tier, ...]] | None = None,
    ) -> None:
        """Wrap the conversation that `records` hold; none: it begins with the first prompt."""
        self.session_id = session_id
        self.path = path
        self.total = _total(records)
        self._context = context
        self._new_id = new_id
        self._tiers_at = tiers_at or context.meter.read
        self._source = source
        self._is_new = not records
        self._turns = _turns(records)
        self._turn_id = ""
        self._began = 0.0
        self._lock = self._claim()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Return the messages so far, oldest first."""
        return tuple(self._turns)

    @property
    def turn_id(self) -> str:
        """Return the id of the last turn that was begun."""
        return self._turn_id

    def open(self, now: float) -> None:
        """Do nothing: the lock is held since the conversation was found or made."""

    def begin(self, prompt: str, model: str, now: float) -> None:
        """Write down the prompt, after the header if the rollout is new."""
        self._turn_id, self._began = self._new_id(now), now
        cwd = str(self._context.cwd)
        head = [("session_meta", self._header(now))] if self._is_new else []
        environment = f"<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>demo</shell>\n</environment_context>"
        started = {"type": "task_started", "turn_id": self._turn_id, "started_at": int(now)}
        self.append(
            now,
            *head,
            ("event_msg", started | {"model_context_window": _CONTEXT_TOKENS}),
            *([("response_item", _message("user", environment))] if self._is_new else []),
            ("turn_context", self._turn_context(model)),
            ("response_item", _message("user", prompt)),
            ("event_msg", {"type": "user_message", "message": prompt, "images": [], "local_images": []}),
        )
        self._is_new = False
        self._turns.append(Turn("user", prompt))

    def add_prompt(self, prompt: str, now: float) -> None:
        """Write down what the user says while the turn runs."""
        self.append(
            now,
            ("response_item", _message("user", prompt)),
            ("event_msg", {"type": "user_message", "message": prompt, "images": [], "local_images": []}),
        )
        self._turns.append(Turn("user", prompt))

    def finish(self, answer: Answer, now: float) -> None:
        """Write down the answer, the tokens it took and how far the account's windows are spent."""
        text = kept(answer.text)
        self.total = Tokens(self.total.input + answer.tokens.input, self.total.output + answer.tokens.output)
        info = {
            "total_token_usage": _usage(self.total),
            "last_token_usage": _usage(answer.tokens),
            "model_context_window": _CONTEXT_TOKENS,
        }
        self.append(
            now,
            ("event_msg", {"type": "agent_message", "message": text}),
            ("response_item", _message("assistant", text)),
            ("event_msg", self._token_count(info, now)),
            ("event_msg", self._completed(text, now)),
        )
        self._turns.append(Turn("assistant", text))

    def fail(self, failure: Failure, now: float) -> None:
        """Write down that the turn ended without an answer; Codex keeps the reason to itself."""
        count = [("event_msg", self._token_count(None, now, full=True))] if failure.kind == "quota" else []
        self.append(now, *count, ("event_msg", self._completed(None, now)))

    def interrupt(self, now: float) -> None:
        """Write down that the user stopped the answer."""
        self.append(now, ("event_msg", {"type": "turn_aborted", "turn_id": self._turn_id, "reason": "interrupted"}))

    def close(self) -> None:
        """Let others write the conversation."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _claim(self) -> int:
        locks = self._context.home / "thread-writer-locks"
        locks.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(locks / f"{self.session_id}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise SessionOpen(f"thread {self.session_id} already has an active writer") from None
        return descriptor

    def append(self, now: float, *items: tuple[str, dict[str, Any]]) -> None:
        """Write down items: (type, payload) each."""
        stamp = levels.instant_text(now)
        records = [{"timestamp": stamp, "type": kind, "payload": payload} for kind, payload in items]
        jsonl.append(self.path, records, new=self._is_new and items[0][0] == "session_meta")

    def _header(self, now: float) -> dict[str, Any]:
        return {
            "id": self.session_id,
            "timestamp": levels.instant_text(now),
            "cwd": str(self._context.cwd),
            "originator": _ORIGINATORS.get(self._source, "codex_cli_rs"),
            "cli_version": VERSION,
            "source": self._source,
            "model_provider": "demo",
            "git": {},
        }

    def _turn_context(self, model: str) -> dict[str, Any]:
        return {
            "turn_id": self._turn_id,
            "cwd": str(self._context.cwd),
            "approval_policy": "never",
            "sandbox_policy": {"type": "read-only"},
            "model": model,
            "summary": "none",
        }

    def _completed(self, text: str | None, now: float) -> dict[str, Any]:
        return {
            "type": "task_complete",
            "turn_id": self._turn_id,
            "last_agent_message": text,
            "completed_at": int(now),
            "duration_ms": int((now - self._began) * 1000),
        }

    def _token_count(self, info: dict[str, Any] | None, now: float, *, full: bool = False) -> dict[str, Any]:
        tiers = self._tiers_at(now)
        primary = next(tier for tier in tiers if tier.kind == "short")
        secondary = next(tier for tier in tiers if tier.kind == "long")
        if full and levels.blocking(tiers, now) is None:  # the refusal was asked for by a directive
            primary = primary._replace(spent=primary.capacity)
        limits = {"limit_id": "codex", "primary": _limit(primary, now), "secondary": _limit(secondary, now)}
        return {"type": "token_count", "info": info, "rate_limits": limits | {"credits": None, "plan_type": None}}


def start(context: CliContext, *, source: str, now: float) -> CodexConversation:
    """Return a new conversation, which is written with its first prompt."""
    session_id = ids.timed_uuid(now)
    return CodexConversation(context, session_id, rollout(context, session_id, now), source=source, records=[])


def rollout(context: CliContext, session_id: str, now: float) -> Path:
    """Return where the rollout of a conversation lies that begins now."""
    local = datetime.fromtimestamp(now).astimezone()
    name = f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"
    return context.home / "sessions" / f"{local:%Y}" / f"{local:%m}" / f"{local:%d}" / name


def resume(context: CliContext, session_id: str, *, source: str) -> CodexConversation | None:
    """Return the conversation whose file's name ends in the id, or None; raises SessionOpen while another writes it."""
    path = _find(context, session_id)
    records = jsonl.read(path) if path is not None else []
    header = next((record["payload"] for record in records if record.get("type") == "session_meta"), None)
    if path is None or not isinstance(header, dict):
        return None
    return CodexConversation(context, str(header.get("id") or session_id), path, source=source, records=records)


def fork(context: CliContext, session_id: str, *, last_turn_id: str | None, now: float) -> CodexConversation:
    """Return a new conversation with the past of another, up to a turn where one is named.

    Raises LookupError where the conversation or the turn is not there.
    """
    path = _find(context, session_id)
    records = [record for record in jsonl.read(path) if "payload" in record] if path is not None else []
    if not records:
        raise LookupError(f"no rollout found for thread id {session_id}")
    if last_turn_id is not None:
        ends = [place for place, record in enumerate(records) if _ended_turn(record) == last_turn_id]
        if not ends:
            raise LookupError(f"turn not found: {last_turn_id}")
        records = records[: ends[-1] + 1]
    new_id = ids.timed_uuid(now)
    header = {**records[0]["payload"], "id": new_id, "forked_from_id": session_id, "cwd": str(context.cwd)}
    stamp = levels.instant_text(now)
    whole = [{"timestamp": stamp, "type": "session_meta", "payload": header}, *records]
    new_path = rollout(context, new_id, now)
    jsonl.append(new_path, whole, new=True)
    return CodexConversation(context, new_id, new_path, source="vscode", records=whole)


def turn_states(path: Path) -> list[dict[str, Any]]:
    """Return the turns of a rollout, oldest first, with how each ended; one that was cut off was interrupted."""
    states: dict[str, dict[str, Any]] = {}
    for record in jsonl.read(path) if path.exists() else []:
        payload = record.get("payload") or {}
        if payload.get("type") == "task_started":
            states[payload["turn_id"]] = {"id": payload["turn_id"], "status": "interrupted", "items": [], "error": None}
        elif payload.get("type") == "task_complete" and _ended_turn(record) in states:
            states[payload["turn_id"]]["status"] = "completed"
    return list(states.values())


def _find(context: CliContext, session_id: str) -> Path | None:
    return next(iter(sorted((context.home / "sessions").glob(f"**/rollout-*-{session_id}.jsonl"))), None)


def _ended_turn(record: dict[str, Any]) -> str | None:
    payload = record["payload"]
    return payload.get("turn_id") if payload.get("type") in ("task_complete", "turn_aborted") else None


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _usage(tokens: Tokens) -> dict[str, int]:
    counts = {"input_tokens": tokens.input, "cached_input_tokens": 0, "output_tokens": tokens.output}
    return counts | {"reasoning_output_tokens": 0, "total_tokens": tokens.input + tokens.output}


def _limit(tier: Tier, now: float) -> dict[str, Any]:
    resets_at = now + tier.length_s if tier.resets_at is None else tier.resets_at
    return {
        "used_percent": levels.used_percent(tier),
        "window_minutes": tier.length_s // 60,
        "resets_at": int(resets_at),
    }


def _total(records: list[dict[str, Any]]) -> Tokens:
    for record in reversed(records):
        payload = record.get("payload")
        if isinstance(payload, dict) and payload.get("type") == "token_count" and payload.get("info"):
            total = payload["info"]["total_token_usage"]
            return Tokens(int(total["input_tokens"]), int(total["output_tokens"]))
    return Tokens(0, 0)


def _turns(records: list[dict[str, Any]]) -> list[Turn]:
    turns = []
    for record in records:
        payload = record.get("payload")
        if record.get("type") != "response_item" or not isinstance(payload, dict) or payload.get("type") != "message":
            continue
        text = "\n".join(
            str(block.get("text", "")) for block in payload.get("content") or [] if isinstance(block, dict)
        )
        if payload.get("role") in ("user", "assistant") and not text.startswith(_NOT_TYPED):
            turns.append(Turn(payload["role"], text))
    return turns
