"""A bench for the quota service: accounts whose scripts answer as the test says, a real store, a clock that obeys."""

import json
import os
import shlex
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Account, StorageSpec
from oulipoly_engine.events import Listeners
from oulipoly_engine.service.quota.refresh import Refresher, RefreshOptions
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas, readings
from oulipoly_engine.testing import FakeClock

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


class QuotaBench:
    """Accounts, their scripts and what came of reading them."""

    def __init__(self, folder, clock):
        self.folder = folder
        self.clock = clock
        self.accounts = {}
        self.store = open_store(folder / "state.db")
        self.timeout_s = 10.0
        self.environ = dict(os.environ)
        self.listeners = Listeners()

    def answers(self, name, *bodies, **more):
        """Add an account whose script runs one shell body a call, the last one again and again."""
        here = self.folder / f"script-{name}"
        here.mkdir()
        for number, body in enumerate(bodies):
            (here / f"{number}").write_text(body)
        counter, last = shlex.quote(str(here / "calls")), len(bodies) - 1
        line = (
            f"echo >> {counter}; n=$(($(wc -l < {counter}) - 1)); [ $n -gt {last} ] && n={last}; "
            f". {shlex.quote(str(here))}/$n"
        )
        self.accounts[name] = Account(name, quota_script=line, **more)

    def account(self, name, **more):
        """Add an account as it is given."""
        self.accounts[name] = Account(name, **more)

    def codex(self, name, root, *bodies):
        """Add an account whose sessions lie in a folder of Codex's, with a script or without one."""
        storage = StorageSpec(cwd_script=f"codex-cwd {shlex.quote(str(root))}")
        if bodies:
            self.answers(name, *bodies, storage=storage)
        else:
            self.account(name, storage=storage)

    def calls(self, name):
        """Return how often an account's script has run."""
        counter = self.folder / f"script-{name}" / "calls"
        return len(counter.read_text()) if counter.exists() else 0

    def windows(self, *percents, hours=5.0, label=None):
        """Return a shell body that prints windows resetting some hours from now on."""
        reset = to_text(self.clock.now() + timedelta(hours=hours))
        entries = [{"used_percent": percent, "resets_at": reset, "label": label} for percent in percents]
        return f"echo {shlex.quote(json.dumps({'windows': entries}))}"

    def refresher(self, store=None):
        """Return the service under test."""
        return Refresher(
            store or self.store,
            self.accounts,
            {},
            self.clock,
            home=self.folder,
            environ=self.environ,
            locks=self.folder / "locks",
            timeout_s=self.timeout_s,
            listeners=self.listeners,
        )

    def refresh(self, *names, **wish):
        """Read accounts; one name gives its result, several give all."""
        found = self.refresher().refresh(names, RefreshOptions(**wish))
        return found[0] if len(names) == 1 else found

    def state(self, name):
        """Return what is stored of an account."""
        return quotas.states(self.store, (name,))[name]

    def attempts(self, name):
        """Return how reading an account has gone."""
        return quotas.attempts(self.store, (name,))[name]

    def history(self, name):
        """Return an account's readings by window, as percent."""
        names = readings.windows_of(self.store, name)
        return {
            window: [round(100 * one.used, 3) for one in readings.history(self.store, name, window, EARLIEST)]
            for window in names
        }

    def rows(self, sql, *parameters):
        """Read the state file."""
        return self.store.rows(sql, parameters)


@pytest.fixture
def quota(tmp_path):
    """A bench with an empty store."""
    bench = QuotaBench(tmp_path, FakeClock())
    yield bench
    bench.store.close()
