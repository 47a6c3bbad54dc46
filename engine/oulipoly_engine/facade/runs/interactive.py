"""CLIs that a person talks to: which one is started, shown in this terminal or in a host of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import restrict_to_account
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.base.home import Home, Part
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record
from oulipoly_engine.service.runs.resume import ResumeRequest, tell_choice

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model
    from oulipoly_engine.core.runs.markers import ParentRef
    from oulipoly_engine.service.interactive.interactive import Launcher
    from oulipoly_engine.service.runs.invoke import Chosen
    from oulipoly_engine.store.base.db import Store
    from oulipoly_engine.terminal.host.runtime_folder import Terminal

__all__ = ["ResumeRequest"]


class InteractiveRequest(Record):
    """What a person wants to talk to: a model's pool, an account alone, or a session."""

    folder: Path  # where the CLI works; for a session: where that cannot be told
    model: str | None = None
    account: str | None = None  # beside a model: this member of its pool alone
    wish: ResumeRequest | None = None  # the session to go on with
    parent: ParentRef | None = None  # the invocation that started us
    is_shown: bool = True  # a person sees our notes: what only scripts read is left out


class Started(Record):
    """A CLI that runs in a host of its own, and why it is that account's."""

    terminal: Terminal
    account: str
    why: str


class Interactive(Part):
    """The interactive runs of one user."""

    def default_account(self) -> str | None:
        """Return the account on which a new session opens where no model is named; None: none is configured."""
        return self._home.files.settings().default_provider

    def attend(self, request: InteractiveRequest) -> int:
        """Give this process's terminal to the CLI until it ends, and return its exit code.

        Raises RunnerError when nothing could be started.
        """
        self._home.refuse_if_read_only("start an interactive session")
        with self._open_choice(request) as choice:
            code = choice.launcher.launch(choice.choose, lambda: choice.folder, request.parent)
            upkeep.keep_after_scan(self._home, choice.launcher.store)
            return code

    def detach(self, request: InteractiveRequest, size: tuple[int, int], guard: Guard) -> Started:
        """Start the CLI in a host of its own. size: columns and rows until somebody attaches. Raises RunnerError."""
        self._home.refuse_if_read_only("start an interactive session")
        from oulipoly_engine.facade.runs import detached  # noqa: PLC0415 - 40 ms, only to start one

        with self._open_choice(request) as choice:
            picked = choice.choose(guard)
            guard.check()
            terminal = detached.start(choice.launcher, self._home.paths, picked, choice.folder, size, request.parent)
        return Started(terminal, picked.account, choice.why)

    @contextmanager
    def _open_choice(self, request: InteractiveRequest) -> Iterator[_Choice]:
        home, files, wiring = self._home, self._home.files, self._home.wiring
        with home.lend_store() as store:
            accounts, settings = files.accounts(), files.settings()
            fresh = wiring.freshness(store, accounts, files.scripts(), home.note, home.listeners)
            launcher = wiring.launcher(
                store,
                accounts,
                settings,
                fresh,
                note=home.note,
                is_shown=request.is_shown,
                hand_over=home.hand_over(store, settings),
            )
            yield _Choice(home, launcher, request)


class _Choice:
    """A request on its way to an account."""

    def __init__(self, home: Home, launcher: Launcher, request: InteractiveRequest) -> None:
        self._home, self._request = home, request
        self.launcher, self.folder = launcher, request.folder
        self.why = "it is the one that can be talked to"

    def choose(self, guard: Guard) -> Chosen:
        """Settle which account serves, and where."""
        request = self._request
        if request.wish is not None:
            return self._resume(request.wish, guard)
        if request.model is None:
            return self.launcher.alone(request.account or "")
        picked = self.launcher.from_pool(
            _restrict_to_account(self._home.files.model(request.model), request.account), guard
        )
        self.why = str((picked.decision or {}).get("reason") or self.why)
        return picked

    def _resume(self, wish: ResumeRequest, guard: Guard) -> Chosen:
        home, wiring, launcher = self._home, self._home.wiring, self.launcher
        store: Store = launcher.store
        mover = upkeep.mover(home, store, wiring.locator(launcher.accounts, home.files.scripts()))
        assert launcher.freshness is not None  # noqa: S101 - the wiring gives every launcher one
        resumer = wiring.resumer(
            store,
            launcher.accounts,
            home.files.models,
            launcher.settings,
            mover,
            launcher.freshness,
            note=home.note,
            is_shown=self._request.is_shown,
        )
        guard.arm()
        settled = resumer.settle(wish, self._request.folder)
        guard.disarm()
        arguments.interactive(resumer.account(settled.session.account))  # refused before it is announced
        self.folder, self.why = settled.working_directory, settled.reason
        return tell_choice(resumer, settled)


def _restrict_to_account(model: Model, account: str | None) -> Model:
    if account is None:
        return model
    found = restrict_to_account(model, account)
    if found is None:
        raise AccountUnusable(f"the pool of {model.name!r} has no account {account!r}")
    return found
