"""What is asked and ordered about pools: why an account is chosen or was, what-ifs, and the pins of this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.balance.decision import Decision
from oulipoly_engine.core.balance.what_if import Supposition, parse, suppose
from oulipoly_engine.core.quota.staleness import is_routing_stale
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.errors import AccountUnusable, InvocationNotFound
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.records import Record
from oulipoly_engine.service.quota.choose import candidates, decide_among
from oulipoly_engine.service.quota.refresh import RefreshOptions
from oulipoly_engine.service.runs import orphans
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model
    from oulipoly_engine.core.balance.record import DecisionRecord
    from oulipoly_engine.facade.quota.accounts import Accounts
    from oulipoly_engine.facade.quota.quota import Waiting


class NextDecision(Record):
    """A choice that was not taken."""

    decision: Decision
    stale: tuple[str, ...]  # the accounts that a run would read first


class Pools:
    """The pools of one user's models."""

    def __init__(self, home: Home, accounts: Accounts) -> None:
        self._home = home
        self._accounts = accounts
        self._pins: dict[str, str] = {}  # model -> account

    def names(self) -> tuple[str, ...]:
        """Return the models that have a pool."""
        return tuple(self._home.files.models())

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
            raise AccountUnusable(f"the pool of {model!r} has no account {account!r}: it has {', '.join(members)}")
        self._pins[model] = account

    def what_if(self, model: str, texts: Sequence[str]) -> Decision:
        """Return the choice that a pool would make if so, with the pin that it has; nothing is changed.

        Raises UsageInvalid on a bad text.
        """
        home, pool = self._home, self._home.files.model(model)
        suppositions = _read_suppositions(pool, texts)
        if model in self._pins and all(one.key != "pin" for one in suppositions):
            suppositions = (*suppositions, Supposition("pin", self._pins[model]))
        with home.lend_store_to_read() as store:
            supposed = suppose(candidates(store, pool, home.now(), home.files.accounts()), suppositions)
            return decide_among(store, pool, supposed, home.files.settings(), home.now())

    def next_decision(self, model: str, texts: Sequence[str], progress: Waiting | None) -> NextDecision:
        """Return the choice that a run would get now, if so; nothing is started and nothing is marked.

        progress: read the accounts' quota first, as a run would, and show it; None: judge by what is stored.
        """
        home, files = self._home, self._home.files
        with home.lend_store_to_read() if progress is None else home.lend_store() as store:
            pool, settings = files.model(model), files.settings()
            suppositions, accounts = _read_suppositions(pool, texts), files.accounts()
            reader = home.wiring.refresher(store, accounts, files.scripts(), home.listeners)
            readable = [name for name in _members(pool) if reader.source(name)]
            stale: tuple[str, ...] = ()
            if progress is None:
                states, now = quotas.states(store, readable), home.now()
                stale = tuple(
                    name for name, one in states.items() if is_routing_stale(one, now, settings.routing_ttl_s)
                )
            else:
                with progress(len(_members(pool))) as step:
                    reader.refresh(readable, RefreshOptions(), step)
            supposed = suppose(candidates(store, pool, home.now(), accounts), suppositions)
            return NextDecision(decide_among(store, pool, supposed, settings, home.now()), stale)

    def past_decision(self, invocation: str) -> Mapping[str, Any]:
        """Return the decision that a run got, as JSON. Raises InvocationNotFound.

        invocation: the id of a run, or the beginning of a recent one's.
        """
        with self._home.lend_store_to_read() as store:
            stored = invocations.decision_json(store, orphans.find_run_or_live(store, invocation).row_id)
        if stored is None:
            message = f"the run {invocation} was started without a choice, so there is no decision to explain"
            raise InvocationNotFound(message)
        document: Mapping[str, Any] = json.loads(stored)
        return document

    def record(self) -> DecisionRecord:
        """Return how right the decisions of the last fortnight have been."""
        from oulipoly_engine.service.quota.decision_record import read_record  # noqa: PLC0415 - few ask

        with self._home.lend_store_to_read() as store:
            return read_record(store, self._home.now())

    def apply(self, model: str, texts: Sequence[str]) -> tuple[str, ...]:
        """Make a what-if's pins, drains and reserves true; return what was done, a clause each."""
        self._home.refuse_if_read_only("apply a what-if")
        return tuple(
            self._apply_supposition(model, one) for one in _read_suppositions(self._home.files.model(model), texts)
        )

    def _apply_supposition(self, model: str, one: Supposition) -> str:
        match one.key:
            case "pin":
                self.pin(model, one.account)
                return f"{one.account} is pinned for {model}"
            case "drain" | "undrain" if one.account is not None:
                self._accounts.drain(one.account, on=one.key == "drain")
                return f"{one.account} is {'drained' if one.key == 'drain' else 'no longer drained'}"
            case "reserve" if one.account is not None:
                self._accounts.reserve(one.account, one.amount)
                return f"{one.account} keeps {percent(one.amount)}"
            case _:
                return "turns cannot be applied: they are what your work will bring"


def _read_suppositions(pool: Model, texts: Sequence[str]) -> tuple[Supposition, ...]:
    return parse(texts, _members(pool))


def _members(pool: Model) -> tuple[str, ...]:
    return tuple(dict.fromkeys(member.account for member in pool.members))
