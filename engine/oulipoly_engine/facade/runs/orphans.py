"""What is asked and ordered about CLIs that run on although their runner was killed, and about the ends of runs."""

from __future__ import annotations

import time
from contextlib import suppress

from oulipoly_engine.core.runs.invocations import Invocation, Status
from oulipoly_engine.errors import InvocationNotFound, RunnerError, RunStays
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.process.signals import interruptible
from oulipoly_engine.records import Record
from oulipoly_engine.service.runs import orphans, results
from oulipoly_engine.service.runs.orphans import Orphan
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

_POLL_S = 0.1


class Ended(Record):
    """How a run came to its end."""

    line: str  # its result line, as the one-shot prints it
    exit_code: int  # the CLI's; 1 where nobody saw it


class Orphans(Part):
    """The CLIs of one user that outlive their runner."""

    def list(self) -> tuple[Orphan, ...]:
        """Return the CLIs that run on without a runner."""
        with self._home.lend_store_to_read() as store:
            return orphans.find(store)

    def kill(self, identity: str) -> Orphan:
        """End one, found by the first letters of its invocation. Raises InvocationNotFound, and RunStays."""
        self._home.refuse_if_read_only("end a program")
        with self._home.lend_store() as store:
            matching = [one for one in self._look(store) if identity and one.uuid.startswith(identity.lower())]
            if len(matching) != 1:
                count = len(matching) or "no"
                message = f"{count} CLIs without a runner belong to invocations that begin with {identity!r}"
                raise InvocationNotFound(message)
            if not orphans.end(matching[0]):
                raise RunStays(f"process {matching[0].pid} does not end: end it by hand")
            self._look(store)  # its row ends with it
            return matching[0]

    def wait(self, identity: str) -> Ended:
        """Return how a run ends, once it has; what an orphan leaves in its transcript is stored.

        identity: the invocation's UUID, or for a recent one its first letters. Raises InvocationNotFound, and
        Interrupted when a signal ends the wait; the run goes on then.
        """
        with self._home.lend_store() as store, interruptible() as guard:
            row = self._find(store, identity.lower())
            was_lost = False
            while row.status is Status.RUNNING:
                guard.check()
                was_lost = was_lost or (row.owner_pid is not None and not is_alive(row.owner_pid))
                if was_lost:
                    self._look(store)
                store.close()  # it may take days
                guard.arm()
                time.sleep(_POLL_S)
                guard.disarm()
                row = invocations.find(store, row.uuid) or row
            if was_lost:
                self._attach(store, row)
            line = results.find_line(store, row.uuid)
            if line is None:
                raise InvocationNotFound(f"invocation {row.uuid} was removed while it was waited for")
            return Ended(line, 1 if row.exit_code is None or row.exit_code < 0 else row.exit_code)

    def _find(self, store: Store, identity: str) -> Invocation:
        return orphans.find_run(store, identity)

    def _look(self, store: Store) -> tuple[Orphan, ...]:
        return orphans.close_lost(store, self._home.now(), self._home.paths)

    def _attach(self, store: Store, row: Invocation) -> None:
        """Read what the run has left, and tie it to the session that it has made."""
        home = self._home
        with suppress(RunnerError):
            files = home.checked_files.quiet()
            fresh = home.wiring.freshness(store, files.accounts(), files.scripts(), home.note, home.listeners)
            if fresh is not None and row.account is not None and row.session_id is None:
                fresh.after_run(row.account, row.uuid)
