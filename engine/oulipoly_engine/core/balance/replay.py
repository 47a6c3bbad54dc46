"""What would have come of past prompts, had the accounts been taken in turn: a replay of recorded decisions. Pure.

A prompt begins badly on an account that refuses it, or of which a window is full by the decision's own numbers before
the prompt is over: its projected use, plus the turns that the prompt took at the account's rate. Both ways are counted
so. Where the rotation chooses another account than the rule did, the turns are moved: what it would have used of each
account since is added to, or taken from, what the readings say. Resumed sessions stay on their accounts in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from oulipoly_engine.core.balance.decision import ExclusionKind, Method
from oulipoly_engine.records import Record

_LEAST_PROMPTS = 50
_LEAST_DIFFERENCE = 3  # prompts: fewer are chance
_CLEARLY_WORSE = 1.5  # times
_CHOOSES = frozenset((Method.DENSITY.value, Method.COUNT.value, Method.ROUND_ROBIN.value))
_BY_QUOTA = frozenset(
    (ExclusionKind.MARKED.value, ExclusionKind.SPENT.value, ExclusionKind.ATTEMPTED.value)
)  # as the rule's own choices have made it

Moved = dict[tuple[str, str], float]  # by account and window with its reset: use that is the rotation's alone


class PastWindow(Record):
    """What a stored decision says of a window, as `core.balance.explain.decision_to_json` names it."""

    resets_at: datetime
    live: bool
    position: int
    label: str | None = None
    used: float | None = None
    rate: float | None = None
    projected_used: float | None = None

    @property
    def name(self) -> str:
        """Return what people call it."""
        return self.label or f"window-{self.position}"


class PastCandidate(Record):
    """What it says of an account."""

    index: int
    account: str
    exclusion: str | None = None
    windows: tuple[PastWindow, ...] = ()


class PastDecision(Record):
    """What is read of a stored decision; the default is that of a run which was begun without a choice."""

    model: str = ""
    rule: str = ""
    method: str = ""
    candidates: tuple[PastCandidate, ...] = ()

    def find(self, account: str) -> PastCandidate | None:
        """Return what it says of an account."""
        return next((candidate for candidate in self.candidates if candidate.account == account), None)


class Start(Record):
    """A run that was begun by a decision."""

    account: str
    decision: PastDecision
    turns: float  # that it took, or was expected to take
    is_refused: bool  # for its quota


class Replay(Record):
    """What came of the prompts, and what would have."""

    rule: str  # the value of `tie_rule` by which the last of them was begun
    prompts: int
    bad_starts: int
    bad_starts_in_turn: int  # had the accounts been taken in turn

    @property
    def is_worse(self) -> bool:
        """Tell whether the rule did clearly worse than taking the accounts in turn."""
        more = self.bad_starts - self.bad_starts_in_turn
        return more >= _LEAST_DIFFERENCE and self.bad_starts > _CLEARLY_WORSE * self.bad_starts_in_turn


def replay(starts: Sequence[Start]) -> Replay | None:
    """Return the replay of runs, oldest first; None: there are too few to say anything."""
    chosen = [start for start in starts if start.decision.method in _CHOOSES]
    moved: Moved = {}
    last: dict[str, int] = {}  # by model
    refused: set[str] = set()
    prompts = bad_starts = in_turn = 0
    for start in chosen:
        if start.is_refused:  # the next attempt is of the same prompt
            refused.add(start.account)
            bad_starts += 1
            continue
        prompts += 1
        own = start.decision.find(start.account)
        bad_starts += not _holds(own, start.turns, {})
        account, missed = _begin_in_turn(start, last, moved, refused)
        in_turn += missed
        refused.clear()
        if account != start.account:
            _move(moved, own, -start.turns)
            _move(moved, start.decision.find(account), start.turns)
    if prompts < _LEAST_PROMPTS:
        return None
    return Replay(chosen[-1].decision.rule, prompts, bad_starts, in_turn)


def replay_text(replay: Replay, since: str) -> str:
    """Say a replay in one sentence. since: a date."""
    return (
        f"Of {replay.prompts} prompts since {since}, {replay.bad_starts} starts were on an account that refused or "
        f"could not hold them by {replay.rule}; taken in turn, {replay.bad_starts_in_turn} would have been."
    )


def replay_to_json(replay: Replay) -> dict[str, object]:
    """Render a replay as JSON values; all are counts."""
    return {
        "rule": replay.rule,
        "prompts": replay.prompts,
        "bad_starts": replay.bad_starts,
        "bad_starts_in_turn": replay.bad_starts_in_turn,
        "is_worse": replay.is_worse,
    }


def _begin_in_turn(start: Start, last: dict[str, int], moved: Moved, refused: set[str]) -> tuple[str, int]:
    """Return on which account the next in turn would have served a prompt, and how many would have failed before."""
    model = start.decision.model
    after = last.get(model, -1)
    able = [candidate for candidate in start.decision.candidates if _is_open(candidate, moved)]
    missed = 0
    for candidate in sorted(able, key=lambda candidate: (candidate.index <= after, candidate.index)):
        last[model] = candidate.index
        is_full = candidate.account in refused and all(moved.get(key, 0.0) >= 0 for key, _ in _live(candidate))
        if not is_full and _holds(candidate, start.turns, moved):
            return candidate.account, missed
        missed += 1
    return "", missed


def _is_open(candidate: PastCandidate, moved: Moved) -> bool:
    """Tell whether an account would have been known to have quota left, had the accounts been taken in turn."""
    if candidate.exclusion is None:
        return all((window.used or 0.0) + moved.get(key, 0.0) < 1 for key, window in _live(candidate))
    if candidate.exclusion not in _BY_QUOTA:
        return False
    less = [key for key, _window in _live(candidate) if moved.get(key, 0.0) < 0]
    return bool(less)


def _holds(candidate: PastCandidate | None, turns: float, moved: Moved) -> bool:
    for key, window in _live(candidate):
        used = window.projected_used
        if used is not None and used + moved.get(key, 0.0) + turns * (window.rate or 0.0) >= 1:
            return False
    return True


def _move(moved: Moved, candidate: PastCandidate | None, turns: float) -> None:
    for key, window in _live(candidate):
        moved[key] = moved.get(key, 0.0) + turns * (window.rate or 0.0)


def _live(candidate: PastCandidate | None) -> Iterator[tuple[tuple[str, str], PastWindow]]:
    """Yield the windows that were live, each with its cycle's key."""
    if candidate is None:
        return
    for window in candidate.windows:
        if window.live:
            hour = round(window.resets_at.timestamp() / 3600)  # resets wobble, by seconds mostly
            yield (candidate.account, f"{window.name} {hour}"), window
