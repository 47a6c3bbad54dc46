"""The life of a set-up as a table: what may follow what, and when it ends. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from oulipoly_engine.core.setup.events import Outcome
from oulipoly_engine.records import Record, replace

MOST_TURNS = 25
MOST_UNREADABLE = 3  # replies one after the other
MOST_EQUAL = 3


class Phase(StrEnum):
    """Where it is."""

    DETECTING = "detecting"
    INSTALLING = "installing"  # no CLI is there, and the person was told how to get one
    ADDING = "adding"  # a CLI is there, and no account
    ASKING = "asking"  # the model
    ACTING = "acting"  # on what it replied
    ENDED = "ended"


class Occurrence(StrEnum):
    """What happens."""

    NOTHING_INSTALLED = "nothing installed"
    NO_ACCOUNT = "no account"
    READY = "ready"
    REPLIED = "replied"
    UNREADABLE = "unreadable"
    FAILED_ONCE = "failed, and is tried again"
    FAILED = "failed"
    ACTED = "acted"
    COMPLETED = "completed"
    SAID_DONE = "said done"
    CANCELLED = "cancelled"


_P, _O = Phase, Occurrence
TABLE: Mapping[tuple[Phase, Occurrence], Phase | Outcome] = {
    (_P.DETECTING, _O.NOTHING_INSTALLED): _P.INSTALLING,
    (_P.DETECTING, _O.NO_ACCOUNT): _P.ADDING,
    (_P.DETECTING, _O.READY): _P.ASKING,
    (_P.INSTALLING, _O.NOTHING_INSTALLED): Outcome.FAILED_BOOTSTRAP,
    (_P.INSTALLING, _O.NO_ACCOUNT): _P.ADDING,
    (_P.INSTALLING, _O.READY): _P.ASKING,
    (_P.ADDING, _O.NO_ACCOUNT): Outcome.FAILED_BOOTSTRAP,
    (_P.ADDING, _O.NOTHING_INSTALLED): Outcome.FAILED_BOOTSTRAP,
    (_P.ADDING, _O.READY): _P.ASKING,
    (_P.ASKING, _O.REPLIED): _P.ACTING,
    (_P.ASKING, _O.UNREADABLE): _P.ASKING,
    (_P.ASKING, _O.FAILED_ONCE): _P.ASKING,
    (_P.ASKING, _O.FAILED): Outcome.AGENT_ERROR,
    (_P.ACTING, _O.ACTED): _P.ASKING,
    (_P.ACTING, _O.COMPLETED): Outcome.SUCCESS,
    (_P.ACTING, _O.SAID_DONE): Outcome.DONE,
    **{(phase, _O.CANCELLED): Outcome.CANCELLED for phase in Phase if phase is not Phase.ENDED},
}


class Life(Record):
    """Where a set-up is, and how far."""

    most_turns: int = MOST_TURNS
    phase: Phase = Phase.DETECTING
    turns: int = 0  # that the model was asked
    unreadable: int = 0  # replies, one after the other
    equal: int = 0  # replies that said the same, one after the other
    last: object = None  # what the last reply said
    outcome: Outcome | None = None  # None: it goes on
    reason: str = ""  # why it ended, where that needs words

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self.phase is Phase.ENDED


def advance(life: Life, occurrence: Occurrence, said: object = None) -> Life:
    """Return the life after something has happened. said: what a reply said, to be compared with the next.

    Raises KeyError for what cannot happen in that phase.
    """
    following = TABLE[life.phase, occurrence]
    if isinstance(following, Outcome):
        return _end(life, following)
    life = replace(life, phase=following)
    if occurrence is Occurrence.REPLIED:
        equal = life.equal + 1 if said == life.last else 1
        life = replace(life, unreadable=0, equal=equal, last=said)
        if equal >= MOST_EQUAL:
            return _end(life, Outcome.AGENT_ERROR, f"the model has replied the same {equal} times")
    if occurrence is Occurrence.UNREADABLE:
        life = replace(life, unreadable=life.unreadable + 1)
        if life.unreadable >= MOST_UNREADABLE:
            return _end(life, Outcome.AGENT_ERROR, f"{life.unreadable} replies one after the other could not be read")
    if following is Phase.ASKING:
        return _begin_turn(life)
    return life


def _begin_turn(life: Life) -> Life:
    if life.turns >= life.most_turns:
        return _end(life, Outcome.MAX_TURNS_EXCEEDED, f"all {life.most_turns} turns are used")
    return replace(life, turns=life.turns + 1)


def _end(life: Life, outcome: Outcome, reason: str = "") -> Life:
    return replace(life, phase=Phase.ENDED, outcome=outcome, reason=reason)
