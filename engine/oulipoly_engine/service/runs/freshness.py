"""What a one-shot reads besides running: quota and turns before a choice, and its own session afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.runs.session_match import NO_EVIDENCE, Evidence
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.quota.refresh import Kind, Refresher
from oulipoly_engine.store.base.db import Store

if TYPE_CHECKING:
    from oulipoly_engine.service.transcripts.ingest import Ingester

# ruff: noqa: PLC0415 - 10 ms, and 20 modules that an account without a turn script never needs

_PATIENCE_S = 10.0  # for scans by others: each new one of a few files takes milliseconds, a first one perhaps longer
_PAUSE_S = 0.02


class Freshness(Record):
    """Keeps what a choice rests on fresh. Whatever fails is said in a line, and the run goes on."""

    store: Store
    refresher: Refresher
    scripts: Mapping[str, SessionScripts]
    home: Path
    make_ingester: Callable[[], Ingester]
    note: Callable[[str], None]
    _read: set[str] = field(default_factory=set)  # accounts whose transcripts were read after a run

    def before_choice(self, names: Sequence[str], ttl_s: float) -> None:
        """Read the accounts whose reading is too old to choose by, and then the entries of those just read.

        An account whose transcripts were never scanned is left to `after_run`: the first scan may take long.
        """
        done = self.refresher.refresh_stale(names, ttl_s)
        for result in done:
            if result.kind is Kind.FAILED:
                self.note(f"[quota] {result.account}: {result.text}")
        read = [result.account for result in done if result.kind is Kind.UPDATED or result.windows]
        scripted = [name for name in read if name in self.scripts]
        if not scripted:
            return
        from oulipoly_engine.store.transcripts import entries

        known = [name for name in scripted if entries.has_any(self.store, name)]
        if known:
            self.make_ingester().ingest_accounts(known)

    def scan_all(self) -> bool:
        """Scan every account that has a turn script; returns whether anything new was found."""
        if not self.scripts:
            return False
        self.note("[sessions] not known yet: reading the transcripts of every account")
        done = self.make_ingester().ingest_accounts(tuple(self.scripts))
        return any(result.new_turns or result.new_chains for result in done)

    def after_run(
        self,
        account: str,
        invocation_uuid: str,
        hints: Sequence[str] = (),
        evidence: Evidence = NO_EVIDENCE,
    ) -> str | None:
        """Scan the account's entries, and return the session that an ended invocation without one has made.

        hints: ids that the CLI is known to have had open meanwhile, the surest first; one without entries is no
        session. evidence: what else tells its session from those of other runs at the same time.
        None: no turn script is configured, or no session of the account fits.
        """
        if account not in self.scripts:
            return None
        from oulipoly_engine.service.transcripts.ingest import attach_session
        from oulipoly_engine.store.runs import expectations, invocations
        from oulipoly_engine.store.sessions import imported
        from oulipoly_engine.store.transcripts import entries

        self._ingest(account, _PATIENCE_S)
        row = invocations.find(self.store, invocation_uuid)
        if row is None:
            return None
        for hint in hints:
            if entries.count(self.store, account, hint).entries and imported.attach(self.store, row.row_id, hint):
                return hint
        session_id = attach_session(self.store, row, evidence)
        if session_id is not None and row.finished_at is not None:
            expectations.count_turns(self.store, account, row.finished_at)
        return session_id

    def catch_up(self, account: str) -> None:
        """Store what an ended run has added to its account's transcripts, unless `after_run` has done so.

        A foreign turn script is left alone: it may take minutes, and here nobody needs its answer.
        """
        scripts = self.scripts.get(account)
        if scripts is None or account in self._read:
            return
        from oulipoly_engine.adapters.bundled import turn_call

        if turn_call(scripts.turn_script, self.home) is None:
            return
        self._ingest(account)

    def _ingest(self, account: str, patience_s: float = 0.0) -> None:
        """Scan an account. patience_s: for another scan of it, which may have begun too early for the last entries."""
        from oulipoly_engine.service.transcripts.ingest import Kind as IngestKind
        from oulipoly_engine.store.transcripts import entries

        if not entries.has_any(self.store, account):
            self.note(f"[sessions] reading the transcripts of {account} for the first time")
        deadline = time.monotonic() + patience_s
        ingester = self.make_ingester()
        while ingester.ingest_accounts((account,))[0].kind is IngestKind.IN_FLIGHT:
            if time.monotonic() >= deadline:
                return
            time.sleep(_PAUSE_S)
        self._read.add(account)
