"""What is asked and ordered about accounts: drain, disable, reserve, clear. Every method blocks."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.accounts.accounts import Account, Controls, Model
from oulipoly_engine.core.accounts.clis.table import recognise_cli
from oulipoly_engine.core.quota.windows import QuotaState
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.base.files import check_account
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts.api_keys import read_kept_profiles
from oulipoly_engine.store.quota import controls, quotas


class AccountState(Record):
    """What holds for an account."""

    name: str
    controls: Controls
    quota: QuotaState
    cli: str | None = None  # its name; None: none that this program knows
    login: str | None = None  # who, by the CLI's own files; None: they do not tell
    plan: str | None = None
    pools: tuple[str, ...] = ()


class Accounts(Part):
    """The accounts of one user."""

    def check(self, account: str) -> None:
        """Refuse an account that is not configured, naming the nearest one. Raises AccountUnusable."""
        check_account(self._home.files.accounts(), account)

    def states(self) -> tuple[AccountState, ...]:
        """Return what holds for every configured account."""
        accounts = self._home.files.accounts()
        models = self._home.quiet_files.models()
        names = tuple(accounts)
        with self._home.lend_store_to_read() as store:
            wishes, states = controls.of(store, names), quotas.states(store, names)
        return tuple(
            self._describe(account, AccountState(name, wishes[name], states[name]), models)
            for name, account in accounts.items()
        )

    def _describe(self, account: Account, state: AccountState, models: Mapping[str, Model]) -> AccountState:
        """Add to a state what the account is; no CLI is asked."""
        members = {name: {member.account for member in model.members} for name, model in models.items()}
        pools = tuple(name for name, accounts in members.items() if account.name in accounts)
        found = recognise_cli(account, self._home.paths.home, inherited_environment())
        if found is None:
            return replace(state, pools=pools)
        profile = next(iter(read_kept_profiles(found)), None)
        login = None if profile is None else profile.id
        plan = None if profile is None else profile.plan
        return replace(state, cli=found.cli.name, login=login, plan=plan, pools=pools)

    def state(self, account: str) -> AccountState:
        """Return what holds for an account."""
        with self._home.lend_store_to_read() as store:
            return AccountState(
                account, controls.of(store, (account,))[account], quotas.states(store, (account,))[account]
            )

    def drain(self, account: str, *, on: bool) -> Controls:
        """Give an account no new work, or work again."""
        return self._control(account, "drain an account", drained=on)

    def disable(self, account: str, *, on: bool) -> Controls:
        """Leave an account out and do not read it, or take it in again."""
        return self._control(account, "disable an account", disabled=on)

    def reserve(self, account: str, fraction: float) -> Controls:
        """Keep a part, 0..0.99, of every window of an account unspent. Raises UsageInvalid outside of that."""
        if not 0 <= fraction <= 0.99:
            raise UsageInvalid(f"a reserve of {100 * fraction:g} % cannot be kept: say 0 to 99")
        return self._control(account, "keep a reserve", reserve=fraction)

    def clear(self, account: str) -> None:
        """Take an account's exhausted mark and its pause after failures away."""
        self._home.refuse_if_read_only("clear a mark")
        self.check(account)
        with self._home.lend_store() as store:
            quotas.clear_exhausted(store, (account,))
            with store.write():
                attempts = quotas.attempts(store, (account,))[account]
                quotas.save_attempts(store, account, replace(attempts, backoff_until=None, failures_in_a_row=0))

    def _control(self, account: str, what: str, **wish: object) -> Controls:
        self._home.refuse_if_read_only(what)
        self.check(account)
        with self._home.lend_store() as store:
            after = replace(controls.of(store, (account,))[account], **wish)
            controls.save(store, account, after, self._home.now())
        return after
