"""What is asked and ordered about pools: why an account is chosen, what-ifs, and the pins of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.decision import Decision
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.what_if import FORMS, Supposition, parse, suppose
from oulipoly_engine.core.balance.why_table import why_table
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.facade.home import Home
from oulipoly_engine.service.quota.choose import candidates, decide_among

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model
    from oulipoly_engine.facade.accounts import Accounts

__all__ = ["FORMS", "Pools", "why_text"]


class Pools:
    """The pools of one user's models."""

    def __init__(self, home: Home, accounts: Accounts) -> None:
        self._home = home
        self._accounts = accounts
        self._pins: dict[str, str] = {}  # model -> account

    @property
    def pins(self) -> Mapping[str, str]:
        """Return the pinned account of each model that has one."""
        return dict(self._pins)

    def pin(self, model: str, account: str | None) -> None:
        """Let one account alone serve this process's next picks of a model; None takes the pin away."""
        members = [member.account for member in self._home.files.model(model).members]
        if account is None:
            self._pins.pop(model, None)
            return
        if account not in members:
            message = f"the pool of {model!r} has no account {account!r}: it has {', '.join(members)}"
            raise AccountUnusable(message)
        self._pins[model] = account

    def what_if(self, model: str, texts: Sequence[str]) -> Decision:
        """Return the choice that a pool would make if so; nothing is changed. Raises UsageInvalid on a bad text."""
        home, pool = self._home, self._home.files.model(model)
        suppositions = _supposed(pool, texts)
        with home.stored() as store:
            supposed = suppose(candidates(store, pool, home.now(), home.files.accounts()), suppositions)
            return decide_among(store, pool, supposed, home.files.settings(), home.now())

    def apply(self, model: str, texts: Sequence[str]) -> tuple[str, ...]:
        """Make a what-if's pins, drains and reserves true; return what was done, a clause each."""
        self._home.refuse_if_read_only("apply a what-if")
        return tuple(self._applied(model, one) for one in _supposed(self._home.files.model(model), texts))

    def _applied(self, model: str, one: Supposition) -> str:
        match one.key:
            case "pin":
                self.pin(model, one.account)
                return f"{one.account} is pinned for {model}"
            case "drain" | "undrain" if one.account is not None:
                self._accounts.drain(one.account, on=one.key == "drain")
                return f"{one.account} is {'drained' if one.key == 'drain' else 'no longer drained'}"
            case "reserve" if one.account is not None:
                self._accounts.reserve(one.account, one.amount)
                return f"{one.account} keeps {one.amount:.0%}"
            case _:
                return "turns cannot be applied: they are what your work will bring"


def why_text(decision: Decision) -> str:
    """Return a decision as the table that `agents why` prints."""
    return why_table(decision_to_json(decision))


def _supposed(pool: Model, texts: Sequence[str]) -> tuple[Supposition, ...]:
    return parse(texts, tuple(dict.fromkeys(member.account for member in pool.members)))
