"""The balancer's whole answer as values: every candidate with its numbers, who was chosen and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from oulipoly_engine.core.quota.burn import RateSource
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.records import Record

ERROR_LIMIT = 3  # recent failures at which an account is avoided (contract, section 1.1)
ERROR_WINDOW_MINUTES = 30  # what "recent" means; the shell counts the failures
ERROR_PENALTY = 10  # calls that one recent failure weighs in count scoring
BAND_FACTOR = 2
DEFAULT_RESET_WEIGHT = 0.05
LIKELY_CUT_OFF = 0.2  # chance from which an account has no room for a prompt, where others have


class TieRule(StrEnum):
    """Who wins among the accounts of the band (contract, section 0, fact 2)."""

    FEWEST_CALLS = "fewest-calls"  # then higher score, then lower index
    LOWEST_USE = "lowest-use"  # lowest worst projected use, then higher score, sooner reset, lower index
    # Our own: every account with a score above 0 competes, not only the band; see core.headroom.
    MOST_HEADROOM = "most-headroom"  # then fewest calls, lower index
    # Our own: every account competes; see core.waste.
    LEAST_WASTE = "least-waste"  # then fewest calls, lower index


class Method(StrEnum):
    """Which rule had the last word."""

    DENSITY = "density"
    COUNT = "count"
    ROUND_ROBIN = "round-robin"
    STICKY = "sticky"
    WASTE = "waste"
    NONE = "none"  # nobody is eligible


ALL_FAILED = "every eligible account failed lately"  # how the reason of such a round robin begins
_METHOD_WORDS: Mapping[str, str] = {  # the slugs are the contract's, these are for people
    Method.DENSITY: "ranked by headroom",
    Method.COUNT: "fewest calls (quota unknown)",
    Method.ROUND_ROBIN: "round robin (quota unknown)",
    Method.STICKY: "stays on it",
    Method.WASTE: "wastes least",
}


def describe_method(method: str, reason: str) -> str:
    """Return a method in words, or as it is where it has none. reason: of the decision."""
    if method == Method.ROUND_ROBIN and reason.startswith(ALL_FAILED):
        return "round robin (all failed lately)"
    return _METHOD_WORDS.get(method, method)


class ExclusionKind(StrEnum):
    """Why an account takes no part in a choice."""

    UNKNOWN = "not-configured"  # named by the pool, and not in providers.toml
    DISABLED = "disabled"
    DRAINED = "drained"
    UNABLE = "unable"  # its CLI cannot do what is asked, or its login may not be used for that
    ATTEMPTED = "attempted"  # ran out of quota earlier in the same invocation
    MARKED = "marked-exhausted"
    SPENT = "window-spent"
    RESERVED = "reserve-reached"
    TOO_LITTLE = "too-little-left"  # less than the prompt took before it was cut off


# Exclusions that the contract's own text ("quota-exhausted") covers.
QUOTA_EXCLUSIONS = frozenset({ExclusionKind.ATTEMPTED, ExclusionKind.MARKED, ExclusionKind.SPENT})


class Expectation(Record):
    """What a prompt is expected to take; the default says that no run was counted yet."""

    turns: float = 15.0  # mean
    spread: float = 0.9  # standard deviation of the natural logarithm: half are within a factor of 1.8 of the middle
    runs: int = 0  # that this rests on: the project's, where it has any
    at_least: float = 0.0  # turns that an attempt of this prompt had taken when its account cut it off


UNKNOWN_LENGTH = Expectation()


class Candidate(Record):
    """What the balancer is told of one pool member."""

    index: int  # position in the model's file, from 0
    account: str
    quota: QuotaState
    invocation_count: int = 0  # finished, over the lifetime, for this model and account
    recent_errors: int = 0  # failures of this model and account in the last ERROR_WINDOW_MINUTES
    turns_since_refresh: int = 0  # assistant turns after quota.refreshed_at; 0 if never refreshed
    reserve: float = 0.0  # 0..1 of every window that we must leave unspent
    drained: bool = False  # no new work; what runs may end
    disabled: bool = False
    refusal: str = ""  # why it cannot do what is asked; empty: it can
    is_known: bool = True  # providers.toml has it
    running: int = 0  # its runs that have not ended, of any model: each will spend a turn at least
    promised_turns: float = 0.0  # that its runs will still take, of those that are known to be at work
    has_alert: bool = False  # it was told to run out, or to be used up to the threshold, in a cycle that still runs

    @property
    def calls(self) -> int:
        """Return its calls, those included that go on."""
        return self.invocation_count + self.running


class Waste(Record):
    """What a prompt is likely to waste on an account; see core.waste."""

    turns: float  # below 0 where what it takes would expire otherwise
    cut_off: float  # chance that the account cuts it off, 0..1


class WindowVerdict(Record):
    """One window in a choice."""

    window: Window
    hours_to_reset: float  # negative when the reset has passed
    is_live: bool
    rate: float | None  # fraction of the window per turn; None if nobody has learned one
    rate_source: RateSource
    projected_used: float | None  # 0.. (may exceed 1); None for past windows and without a rate
    score: float | None  # (1 - reserve - projected used) x hours to reset, at least 0


class Verdict(Record):
    """One candidate in a choice."""

    candidate: Candidate
    windows: tuple[WindowVerdict, ...]  # in the reading's order
    live_windows: int
    score: float | None  # the binding score; None: cannot be scored
    binding: WindowVerdict | None  # the live window with the least score
    worst_projected_used: float | None  # over the live windows whose rate is known
    soonest_reset_hours: float | None  # over the live windows
    exclusion: ExclusionKind | None
    excluding_window: WindowVerdict | None  # of SPENT and RESERVED
    readmit: bool  # the exhaustion mark is outlived: the shell must clear it in the store
    waste: Waste | None = None  # where accounts are ranked by it
    hides_window: bool = False  # fewer live windows than the best covered and almost exhausted: score forced to 0

    @property
    def is_eligible(self) -> bool:
        """Tell whether the account could be chosen at all."""
        return self.exclusion is None

    @property
    def is_erring(self) -> bool:
        """Tell whether recent failures keep the account from being scored."""
        return self.candidate.recent_errors >= ERROR_LIMIT


class Decision(Record):
    """Who serves a model now, and why everyone else does not."""

    model: str
    now: datetime
    rule: TieRule
    method: Method
    index: int | None  # of the chosen candidate; None: nobody, see `error`
    account: str | None
    reason: str  # one sentence for people
    error: str | None  # the contract's text when nobody is eligible
    verdicts: tuple[Verdict, ...]  # every candidate, by index
    band_floor: float | None = None  # least score inside the band; None where no band was formed
    sticky_to: str | None = None  # the account that stickiness asked for
    expected: Expectation = UNKNOWN_LENGTH  # of the prompt

    @property
    def readmitted(self) -> tuple[str, ...]:
        """Return the accounts whose exhaustion mark the shell must clear."""
        return tuple(verdict.candidate.account for verdict in self.verdicts if verdict.readmit)

    def in_band(self, verdict: Verdict) -> bool:
        """Tell whether `verdict` competed inside the band."""
        if self.band_floor is None or verdict.score is None or not verdict.is_eligible:
            return False
        return verdict.score >= self.band_floor
