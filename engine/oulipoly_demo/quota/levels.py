"""The demo accounts' quota as values: windows that fill with every answer and start anew. Pure: no clock, no files.

Records here are NamedTuples, not dataclasses: the bundled CLI is started often, and importing `dataclasses` adds 6 ms.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

# An answer of 200 characters from the dearest model is 4 % of a short tier and 0.4 % of a long one: enough to be seen.
SHORT_CAPACITY = 40_000
LONG_CAPACITY = 400_000
_LENGTHS = {("short", False): 5 * 3600, ("long", False): 7 * 86400, ("short", True): 300, ("long", True): 3600}
_LABELS = {
    ("claude", "short"): "5h",
    ("claude", "long"): "7d",
    ("codex", "short"): "5h",
    ("codex", "long"): "weekly",
}
_WEIGHTS = (("opus", 5), ("sonnet", 2), ("haiku", 1))
_OTHER_WEIGHT = 3
_BASE_TOKENS = 150  # what an empty conversation costs: the system prompt
_DEAREST = SHORT_CAPACITY // 4  # so that one huge prompt or answer does not end the demo


class Tier(NamedTuple):
    """One window of a demo account."""

    label: str
    kind: str  # "short" or "long"
    length_s: int
    capacity: int  # units
    spent: int  # units, 0..capacity; whole numbers, so that many small charges add up exactly
    resets_at: float | None  # Unix seconds; None: idle, the window begins with the next use


class Tokens(NamedTuple):
    """What one prompt and its answer weigh."""

    input: int
    output: int


def fresh(vendor: str, *, short: bool = False) -> tuple[Tier, ...]:
    """Return an unused account's tiers, in the order in which the vendor's script lists them."""
    kinds = ("short", "long") if vendor == "claude" else ("long", "short")
    return tuple(
        Tier(
            label=_label(vendor, kind, short=short),
            kind=kind,
            length_s=_LENGTHS[kind, short],
            capacity=SHORT_CAPACITY if kind == "short" else LONG_CAPACITY,
            spent=0,
            resets_at=None,
        )
        for kind in kinds
    )


def advance(tiers: tuple[Tier, ...], now: float) -> tuple[Tier, ...]:
    """Empty every tier whose reset has passed; it stays idle until it is used."""
    return tuple(
        tier._replace(spent=0, resets_at=None) if tier.resets_at is not None and tier.resets_at <= now else tier
        for tier in tiers
    )


def blocking(tiers: tuple[Tier, ...], now: float) -> Tier | None:
    """Return the full tier that will block longest, or None while there is room in all of them."""
    full = [tier for tier in advance(tiers, now) if tier.spent >= tier.capacity]
    return max(full, key=lambda tier: tier.resets_at or 0.0, default=None)


def charge(tiers: tuple[Tier, ...], units: int, now: float) -> tuple[Tier, ...]:
    """Spend `units` of every tier; an idle one begins now."""
    return tuple(
        tier._replace(
            spent=min(tier.capacity, tier.spent + units),
            resets_at=now + tier.length_s if tier.resets_at is None else tier.resets_at,
        )
        for tier in advance(tiers, now)
    )


def with_used(tiers: tuple[Tier, ...], percent: float, kind: str, now: float) -> tuple[Tier, ...]:
    """Set one kind of tier to `percent` (0..100) of its capacity."""
    return tuple(
        tier._replace(
            spent=round(tier.capacity * percent / 100),
            resets_at=now + tier.length_s if tier.resets_at is None else tier.resets_at,
        )
        if tier.kind == kind
        else tier
        for tier in advance(tiers, now)
    )


def with_lengths(tiers: tuple[Tier, ...], vendor: str, now: float, *, short: bool) -> tuple[Tier, ...]:
    """Shorten the tiers to minutes, or bring back the vendor's lengths; use and progress are kept."""
    changed = []
    for tier in advance(tiers, now):
        length_s = _LENGTHS[tier.kind, short]
        resets_at = tier.resets_at
        if resets_at is not None:
            resets_at = now + (resets_at - now) * length_s / tier.length_s
        label = _label(vendor, tier.kind, short=short)
        changed.append(tier._replace(label=label, length_s=length_s, resets_at=resets_at))
    return tuple(changed)


def used_percent(tier: Tier) -> float:
    """Return how much of a tier is spent, 0..100 with two decimals."""
    return round(100 * tier.spent / tier.capacity, 2)


def report(tiers: tuple[Tier, ...], now: float) -> dict[str, object]:
    """Return what a quota script prints: `{"windows": [{"used_percent", "resets_at", "label"}]}`.

    An idle tier is reported as if it began now, since the contract demands a reset time.
    """
    return {
        "windows": [
            {
                "used_percent": used_percent(tier),
                "resets_at": instant_text(now + tier.length_s if tier.resets_at is None else tier.resets_at),
                "label": tier.label,
            }
            for tier in advance(tiers, now)
        ]
    }


def tokens(prompt: str, answer_length: int) -> Tokens:
    """Weigh a prompt and an answer of `answer_length` characters at four characters a token."""
    return Tokens(len(prompt) // 4 + 1, answer_length // 4 + 1)


def cost(model: str, weighed: Tokens) -> int:
    """Return the units that one turn costs: dearer models, longer answers cost more, up to a quarter of a tier."""
    weight = next((weight for name, weight in _WEIGHTS if name in model), _OTHER_WEIGHT)
    return min(_DEAREST, weight * (_BASE_TOKENS + weighed.input + 4 * weighed.output))


def instant_text(seconds: float) -> str:
    """Render Unix seconds as RFC 3339 with milliseconds and `Z`, as both vendors do."""
    instant = datetime.fromtimestamp(seconds, UTC)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}Z"


def _label(vendor: str, kind: str, *, short: bool) -> str:
    if short:
        return "5min" if kind == "short" else "1h"
    return _LABELS[vendor, kind]
