"""The set-up agent: what a model is asked, and what is done of what it says, for every face alike (section 13)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Model, PoolMember, restrict_to_account
from oulipoly_engine.core.setup.dialogs import KeyGiven
from oulipoly_engine.core.setup.events import Agreement, Failure, Outcome, PastSetup, Status
from oulipoly_engine.core.setup.lifecycle import MOST_TURNS, Life
from oulipoly_engine.core.setup.prompt import Situation
from oulipoly_engine.core.setup.turn import LONGEST_REPLY
from oulipoly_engine.errors import Interrupted, ModelUnknown, RequestRefused, RunnerError, StoreUnusable, UsageInvalid
from oulipoly_engine.facade.accounts.additions import find_cli
from oulipoly_engine.facade.accounts.changes import Step
from oulipoly_engine.facade.accounts.setup import AccountSetup
from oulipoly_engine.facade.base.files import check_account
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.live.requests import own_client
from oulipoly_engine.facade.runs.one_shots import OneShots, Request
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts import setup
from oulipoly_engine.service.setup.answer_only import answer_only
from oulipoly_engine.service.setup.bootstrap import Found, bootstrap
from oulipoly_engine.service.setup.face import (
    AnsweredElsewhere,
    Look,
    NobodyAnswers,
    Ports,
    SetupCancelled,
    SetupFace,
    keep_waiting,
)
from oulipoly_engine.service.setup.inbox import Inbox
from oulipoly_engine.service.setup.loop import Loop, SetupEnd, cancel
from oulipoly_engine.service.setup.memory import Memory
from oulipoly_engine.service.setup.report import configuration_text, model_report, short_path, summary_lines
from oulipoly_engine.service.setup.secrets import Secrets
from oulipoly_engine.service.setup.sync import Sync
from oulipoly_engine.stopping import Stopped

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.detection import Detected

# ruff: noqa: PLC0415 - who asks for the history runs no set-up, and the other way round

__all__ = [
    "AnsweredElsewhere",
    "Look",
    "NobodyAnswers",
    "Outcome",
    "SetupCancelled",
    "SetupEnd",
    "SetupFace",
    "keep_waiting",
]

_KEPT_WISH = 1000  # characters
_TURN_S = 120.0
_TEST_S = 90.0
_TEST_PROMPT = "Answer with the single word ok."
_TEST_ANSWER = 4096  # bytes


class SetupWish(Record):
    """What a person wants of the set-up."""

    text: str = ""  # "": find out what is there, and ask
    model: str | None = None  # whose pool serves the turns; None: `Offers.model`
    account: str | None = None  # this account alone serves them
    max_turns: int = MOST_TURNS
    cli: str | None = None  # this CLI alone is set up; None: whatever is wanted


class Offers(Record):
    """What the turns can be served by."""

    models: tuple[str, ...]
    model: str | None  # that is taken where none is named; None: the one account's CLI, or there is nothing yet
    accounts: tuple[str, ...]


class SetupAgent:
    """The set-up agent of one user."""

    def __init__(self, home: Home, one_shots: OneShots, accounts: AccountSetup) -> None:
        self._home, self._one_shots, self._accounts = home, one_shots, accounts

    def offers(self) -> Offers:
        """Return what can serve: the pool of the default account's CLI is taken first, else the first pool."""
        models = tuple(self._home.files.model_names())
        accounts = tuple(self._accounts.additions.names())
        first = self._home.files.settings().default_provider
        usual = next((name for name in models if first is not None and (first == name or first.startswith(name))), None)
        return Offers(models, usual or next(iter(models), None), accounts)

    def run(self, wish: SetupWish, face: SetupFace) -> SetupEnd:
        """Run a set-up to its end, whatever a model says and a person answers; blocks.

        Raises UsageInvalid, ModelUnknown, RequestRefused (read-only mode, an unknown account) before anything is said.
        """
        self._home.refuse_if_read_only("run the set-up")
        if not 1 <= wish.max_turns <= MOST_TURNS:
            raise UsageInvalid(f"a set-up has 1 to {MOST_TURNS} turns, not {wish.max_turns}")
        if wish.model is not None:
            self._home.files.model(wish.model)
        if wish.cli is not None:
            find_cli(wish.cli)
        if wish.account is not None:
            check_account(self._accounts.additions.names(), wish.account)
        inbox = Inbox(face, self._home.lend_store, self._home.clock, own_client(is_app=self._home.is_app).name)
        run = _Run(self._home, self._one_shots, self._accounts, wish, inbox)
        number = self._begin(run.shown_wish, wish.account or wish.model or self.offers().model or "")
        end = run.run()
        self._end(number, end)
        return end

    def history(self, limit: int = 20) -> tuple[PastSetup, ...]:
        """Return the last set-ups, the newest first. Raises StoreUnusable."""
        from oulipoly_engine.store.setup import history

        with self._home.lend_store_to_read() as store:
            return history.latest(store, limit)

    def _begin(self, wish: str, model: str) -> int | None:
        """Note that a set-up begins; None where that cannot be written, which the first turn tells."""
        from oulipoly_engine.store.setup import history

        with suppress(StoreUnusable), self._home.lend_store() as store:
            return history.begin(store, wish, model, self._home.now())
        return None

    def _end(self, number: int | None, end: SetupEnd) -> None:
        from oulipoly_engine.store.setup import history

        if number is not None:
            with suppress(StoreUnusable), self._home.lend_store() as store:
                history.end(store, number, end.outcome.value, end.turns, end.summary, self._home.now())


class _Run:
    """One set-up."""

    def __init__(
        self, home: Home, one_shots: OneShots, accounts: AccountSetup, wish: SetupWish, face: SetupFace
    ) -> None:
        self._home, self._one_shots, self._accounts = home, one_shots, accounts
        self._wish, self._face = wish, face
        self._secrets = Secrets()
        self._found: Detected | None = None
        self._known: frozenset[str] = frozenset()
        self._changes: list[str] = []
        self._pool_name: str | None = None
        self._account: str | None = None
        self._cli = None if wish.cli is None else find_cli(wish.cli)
        self._name = to_text(home.now())  # what its changes are kept by
        self._ports = Ports(
            face=face,
            paths=home.paths,
            environ=inherited_environment(),
            secrets=self._secrets,
            write=self._write,
            test_model=self._test_model,
            add_by_key=self._add_by_key,
            find_keyring=accounts.additions.find_keyring,
            after_login=self._after_login,
            sync=lambda: Sync(home.paths, accounts.additions.names(), inherited_environment(), self._name),
            cli=self._cli,
            remember=self._remember,
        )

    @property
    def shown_wish(self) -> str:
        """Return the wish without secrets, as it is kept."""
        return self._secrets.clean(self._wish.text)[:_KEPT_WISH]

    def run(self) -> SetupEnd:
        """Run it to its end."""
        life = Life(self._wish.max_turns)
        loop = Loop(self._ports, self._ask_model, self._look)
        try:
            life = bootstrap(life, self._ports, self._detect, self._add_logins)
            if not life.is_over:
                self._choose_pool()
                self._tell_tools()
        except (SetupCancelled, Interrupted, Stopped) as error:
            life = cancel(life, error)
        except RunnerError as error:  # a configuration that does not load
            reason = self._secrets.clean(error.message)
            self._face.tell(Failure(reason, recoverable=False))
            return SetupEnd(Outcome.FAILED_BOOTSTRAP, reason, changes=tuple(self._changes))
        if life.is_over:
            return SetupEnd(life.outcome or Outcome.CANCELLED, life.reason, changes=tuple(self._changes))
        end = loop.run(life)
        return SetupEnd(end.outcome, end.summary, end.items, end.turns, (*self._changes, *end.changes))

    def _detect(self) -> Found:
        found = self._narrow(
            self._accounts.detection.detect(finds_models=self._found is None)
        )  # once: it takes some seconds more
        self._found = found if self._found is None else replace(found, models=self._found.models)
        names = self._accounts.additions.names()
        self._known = frozenset(names)
        report, home = self._found.report, self._home.paths.home
        installed = tuple(find_cli(cli.name) for cli in report.clis if cli.path is not None)
        return Found(installed, tuple(names), summary_lines(report, self._found.accounts, home))

    def _look(self, turns: int) -> Situation:
        found = self._found or self._narrow(self._accounts.detection.detect())
        paths = self._home.paths
        return Situation(
            wish=self._wish.text,
            report=model_report(found.report, found.accounts, paths.home, found.models or {}),
            files=configuration_text(paths, self._models),
            memory=self._memory(),
            config=short_path(paths.config, paths.home),
            turns=turns,
            cli=self._cli,
        )

    def _narrow(self, found: Detected) -> Detected:
        """Leave out of what was found what the set-up is not about."""
        cli, report = self._cli, found.report
        if cli is None:
            return found
        clis = tuple(one for one in report.clis if one.name == cli.name)
        wrappers = tuple(one for one in report.wrappers if one.cli == cli.name)
        return replace(found, report=replace(report, clis=clis, wrappers=wrappers))

    def _ask_model(self, text: str) -> str:
        model, _ = self._pool()
        folder = self._home.paths.data / "setup-agent"  # empty: no project's instructions are read
        make_folder(folder)
        answered = self._one_shots.ask(Request(model, text, folder, timeout_s=_TURN_S), LONGEST_REPLY)
        if answered.failure is not None and not answered.is_cut:
            who = answered.account or "no account"
            raise RequestRefused(f"{who}: {answered.failure}")
        return answered.text

    def _choose_pool(self) -> None:
        """Choose who serves all turns: what the set-up itself adds on its way shall not take them over."""
        wish = self._wish
        self._pool_name = wish.model
        self._account = wish.account
        if wish.model is None and wish.account is None:
            self._pool_name = SetupAgent(self._home, self._one_shots, self._accounts).offers().model
            if self._pool_name is None:
                self._account = next(iter(self._accounts.additions.names()), None)

    def _pool(self) -> tuple[Model, tuple[str, ...]]:
        """Return the pool that serves the turns, and its accounts whose CLI keeps tools of its own."""
        name, account = self._pool_name, self._account
        own = Model(account or "", (PoolMember(0, account or ""),))
        model = own if name is None else self._home.quiet_files.model(name)
        if name is not None and account is not None:
            model = restrict_to_account(model, account) or own
        return answer_only(model, self._accounts.additions.names(), self._home.paths.home)

    def _tell_tools(self) -> None:
        _, others = self._pool()
        for name in others:
            text = (
                f"the CLI of {name} keeps tools of its own, which this program cannot switch off: what it does by them "
                "is not asked for here"
            )
            self._face.tell(Status(text))

    def _test_model(self, name: str) -> tuple[bool, str]:
        accounts = self._accounts.additions.names()
        is_pool = name in self._home.files.model_names()
        if not is_pool and name not in accounts:
            raise ModelUnknown(f"there is no model or account {name[:80]!r}")
        model = self._home.quiet_files.model(name) if is_pool else Model(name, (PoolMember(0, name),))
        members = tuple(
            PoolMember(one.index, one.account, (*one.args, *self._accounts.logins.test_words(one.account)))
            for one in model.members
            if one.account in accounts
        )
        request = Request(Model(name, members), _TEST_PROMPT, self._home.paths.home, timeout_s=_TEST_S)
        answered = self._one_shots.ask(request, _TEST_ANSWER)
        if answered.failure is not None:
            return False, answered.failure
        return True, " ".join(answered.text.split())

    def _add_by_key(self, cli: str, vendor: str, given: KeyGiven) -> str:
        accounts, changes = self._accounts.additions, self._accounts.changes
        candidate = accounts.prepare(accounts.free_name(cli), cli, None)
        try:
            candidate = accounts.store_key(candidate, given.key, vendor, in_keyring=given.in_keyring)
            pool = accounts.suggest_pool(candidate)
            step = accounts.plan_addition(candidate, () if pool is None else (pool,))
            question = f"Add the account {candidate.name} with this key?"
            if not self._face.agree(Agreement("account", question, changes.diff(step.files), is_diff=True)):
                accounts.discard(candidate)
                return "the user said no: no account was added, and the key was thrown away"
            self._write(step)
        except BaseException:
            accounts.discard(candidate)
            raise
        self._changes.append(step.what)
        self._detect()
        where = f"it is in the pool {pool}" if pool is not None else "it is in no pool"
        return f"the account {candidate.name} was added with the key; {where}"

    def _add_logins(self) -> str:
        """Offer the logins of this machine that are not accounts yet."""
        paths = self._home.paths
        found = setup.propose(paths, self._home.models_dir, self._find_program)
        if not found.files:
            return "there is no login that is not an account yet"
        names = ", ".join(login.account for login in found.logins)
        question = Agreement("account", f"Add {names}?", self._accounts.changes.diff(found.files), is_diff=True)
        if not self._face.agree(question):
            return f"logged in, and no account because the user said no: {names}"
        setup.write_set_up(paths, found, self._name)
        self._changes.append(f"set up {names}")
        self._detect()
        return f"added the accounts {names}"

    def _find_program(self, name: str) -> str | None:
        return shutil.which(name) if self._cli is None or name == self._cli.name else None

    def _write(self, step: Step) -> None:
        self._accounts.changes.write(replace(step, run=self._name))

    def _after_login(self) -> str:
        before = self._known
        self._detect()
        new = sorted(self._known - before)
        if new:
            pools = "; ".join(
                f"{name} in {', '.join(self._accounts.additions.pools_of(name)) or 'no pool'}" for name in new
            )
            return f"the user added these accounts: {pools}"
        return self._add_logins()

    def _remember(self, kind: str, label: str, data: Mapping[str, object], edges: tuple[tuple[str, str], ...]) -> str:
        with self._home.lend_store() as store:
            return Memory(store, self._home.now()).update(kind, label, data, edges)

    def _memory(self) -> str:
        """Return what earlier set-ups have kept; without a state file there is nothing."""
        with suppress(RunnerError), self._home.lend_store_to_read() as store:
            return Memory(store, self._home.now()).context()
        return ""

    @property
    def _models(self) -> Path:
        return self._home.models_dir or self._home.paths.models
