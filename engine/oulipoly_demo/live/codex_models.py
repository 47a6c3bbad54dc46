"""The models that the demo's codex offers, and how far its account's windows are spent."""

from __future__ import annotations

from typing import Any

from oulipoly_demo.base.context import CliContext
from oulipoly_demo.live.rpc import Refused
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tier

_MODELS = (
    ("demo-gpt-1", "Demo GPT", "Made-up answers at a middling price.", ("low", "medium", "high")),
    ("demo-opus-1", "Demo Opus", "The dearest made-up answers.", ("medium", "high", "max")),
    ("demo-haiku-1", "Demo Haiku", "The cheapest made-up answers.", ()),
)


def page(cursor: Any, limit: Any) -> dict[str, Any]:  # noqa: ANN401 - foreign
    """Return a page of models. limit: models on a page; all where it is none."""
    try:
        first = 0 if cursor is None else int(cursor)
    except (ValueError, TypeError):
        raise Refused("invalid cursor") from None
    size = limit if isinstance(limit, int) and limit > 0 else len(_MODELS)
    after = first + size
    return {
        "data": [_describe(place, *model) for place, model in list(enumerate(_MODELS))[first:after]],
        "nextCursor": str(after) if after < len(_MODELS) else None,
    }


def limits(context: CliContext) -> dict[str, Any]:
    """Return the account's windows as they stand."""
    now = context.now()
    tiers = {tier.kind: tier for tier in context.meter.read(now)}
    spent = levels.blocking(tuple(tiers.values()), now)
    return {
        "limitId": "codex",
        "primary": _window(tiers["short"], now),
        "secondary": _window(tiers["long"], now),
        "credits": None,
        "planType": "pro",
        "rateLimitReachedType": None if spent is None else "rate_limit_reached",
    }


def _window(tier: Tier, now: float) -> dict[str, Any]:
    resets_at = now + tier.length_s if tier.resets_at is None else tier.resets_at
    used = levels.used_percent(tier)
    return {"usedPercent": used, "windowDurationMins": tier.length_s // 60, "resetsAt": int(resets_at)}


def _describe(place: int, identity: str, name: str, description: str, efforts: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": identity,
        "model": identity,
        "displayName": name,
        "description": description,
        "hidden": False,
        "supportedReasoningEfforts": [{"reasoningEffort": effort, "description": effort} for effort in efforts],
        "defaultReasoningEffort": efforts[0] if efforts else "none",
        "inputModalities": ["text"],
        "isDefault": place == 0,
    }
