"""Change a pool's candidates for a what-if: nothing is stored, nothing is touched. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oulipoly_engine.core.balance.decision import Candidate
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record, replace

FORMS = "pin=ACCOUNT, drain=ACCOUNT, undrain=ACCOUNT, reserve=ACCOUNT:PERCENT, turns=+N or turns=ACCOUNT:+N"


class Supposition(Record):
    """One `key=value` of a what-if."""

    key: str
    account: str | None  # None: every account
    amount: float = 0.0  # reserve: 0..0.99; turns: a number


def parse(texts: Iterable[str], known: Sequence[str]) -> tuple[Supposition, ...]:
    """Read what-if texts. Raises UsageInvalid naming the text and the forms."""
    return tuple(_parse(text, known) for text in texts)


def suppose(candidates: Sequence[Candidate], suppositions: Sequence[Supposition]) -> tuple[Candidate, ...]:
    """Return the candidates as they would be; a pin leaves the pinned account alone in the choice."""
    pinned = {one.account for one in suppositions if one.key == "pin"}
    changed = (_apply(candidate, suppositions) for candidate in candidates)
    return tuple(candidate for candidate in changed if not pinned or candidate.account in pinned)


def _apply(candidate: Candidate, suppositions: Sequence[Supposition]) -> Candidate:
    for one in suppositions:
        if one.account not in (None, candidate.account):
            continue
        match one.key:
            case "drain" | "undrain":
                candidate = replace(candidate, drained=one.key == "drain")
            case "reserve":
                candidate = replace(candidate, reserve=one.amount)
            case "turns":
                candidate = replace(candidate, turns_since_refresh=candidate.turns_since_refresh + int(one.amount))
            case _:
                pass
    return candidate


def _parse(text: str, known: Sequence[str]) -> Supposition:
    key, equals, value = text.partition("=")
    account, colon, amount = value.partition(":")
    if not equals or key not in ("pin", "drain", "undrain", "reserve", "turns"):
        raise _refusal(text)
    if key == "turns" and not colon:
        return Supposition(key, None, _number(text, value, 0, 1_000_000))
    if account not in known:
        raise UsageInvalid(f"{text!r}: no account {account!r} in this pool, which has {', '.join(known)}")
    if key == "reserve":
        return Supposition(key, account, _number(text, amount.removesuffix("%"), 0, 99) / 100)
    if key == "turns":
        return Supposition(key, account, _number(text, amount, 0, 1_000_000))
    if colon:
        raise _refusal(text)
    return Supposition(key, account)


def _number(text: str, amount: str, least: float, most: float) -> float:
    try:
        value = float(amount)
    except ValueError:
        raise _refusal(text) from None
    if not least <= value <= most:
        raise _refusal(text)
    return value


def _refusal(text: str) -> UsageInvalid:
    return UsageInvalid(f"{text!r} is not a what-if: write {FORMS}")
