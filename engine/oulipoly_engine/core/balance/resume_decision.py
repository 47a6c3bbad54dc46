"""The stored decision of a run that goes on with a session: the pool as it stood, and why this account. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def describe_resumption(pool: Mapping[str, object], account: str, reason: str) -> dict[str, object]:
    """Return a pool's decision, in the form of `decision_to_json`, as that of a resumed run.

    account: the one that has the session. The pool's own choice stays readable in the candidates' scores.
    """
    candidates = pool.get("candidates")
    shown = [
        _describe_candidate(candidate, account) for candidate in (candidates if isinstance(candidates, list) else [])
    ]
    index = next((candidate["index"] for candidate in shown if candidate["chosen"]), None)
    return {
        **pool,
        "method": "resume",
        "index": index,
        "account": account,
        "reason": reason,
        "error": None,
        "candidates": shown,
    }


def _describe_candidate(candidate: Mapping[str, object], account: str) -> dict[str, object]:
    is_chosen = candidate.get("account") == account
    excluded = candidate.get("why_not") if candidate.get("exclusion") is not None else None
    why_not = None if is_chosen else excluded or "does not have the session"
    return {**candidate, "chosen": is_chosen, "why_not": why_not}
