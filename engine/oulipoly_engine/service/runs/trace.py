"""Walk a recorded invocation and what it started."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.core.runs.invocations import Invocation, Status
from oulipoly_engine.core.runs.trace import DEFAULT_MAX_DEPTH, Node, SessionFacts, TranscriptState
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.runs import last_words, orphans
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import artifacts, invocations
from oulipoly_engine.store.sessions import chains, imported
from oulipoly_engine.store.transcripts import entries

_LOCATOR_TIMEOUT_S = 30.0


class Tracer(Record, frozen=False):
    """Builds the tree of one requested invocation; each session is located once."""

    store: Store
    scripts: Callable[[], Mapping[str, SessionScripts]]  # asked only where a session is to be located
    sessions_root: Path  # where adapters keep their state, a folder an account
    home: Path = Path()  # what `~` stands for in the bundled locators' arguments
    max_depth: int = DEFAULT_MAX_DEPTH
    inline_transcript: bool = False
    results: Path | None = None  # the folder of result files; None: no last words are looked for
    _seen: set[int] = field(default_factory=set)
    _located: dict[tuple[str, str], tuple[str | None, TranscriptState]] = field(default_factory=dict)

    def trace(self, text: str) -> Node:
        """Return the tree below an invocation, a live session's last process or a turn of it; beginnings will do.

        Raises InvocationNotFound.
        """
        return self._node(orphans.find_run_or_live(self.store, text), 0)

    def _node(self, row: Invocation, depth: int) -> Node:
        self._seen.add(row.row_id)
        rows = invocations.children(self.store, row.row_id)
        is_cut = depth >= self.max_depth and bool(rows)
        children = () if is_cut else tuple(self._child(child, depth + 1) for child in rows)
        stored = invocations.decision_json(self.store, row.row_id)
        is_orphaned = row.status is Status.RUNNING and row.owner_pid is not None and not is_alive(row.owner_pid)
        orphan = orphans.find_orphan(row) if is_orphaned else None
        return Node(
            invocation=row,
            parent_uuid=None if row.parent_row_id is None else invocations.uuid_of(self.store, row.parent_row_id),
            session=self._session(row),
            decision=None if stored is None else json.loads(stored),
            children=children,
            is_orphaned=is_orphaned,
            is_unmatched=self._is_unmatched(row),
            outlived_by=None if orphan is None else orphan.pid,
            is_cut=is_cut,
            transcript=self._transcript(row) if self.inline_transcript else None,
            returned_artifacts=artifacts.find_returned_artifacts(self.store, row.row_id),
            last_words=None if self.results is None else last_words.find(self.results, row.uuid),
        )

    def _child(self, row: Invocation, depth: int) -> Node:
        if row.row_id in self._seen:
            parent = None if row.parent_row_id is None else invocations.uuid_of(self.store, row.parent_row_id)
            return Node(row, parent, SessionFacts(), is_cycle=True)
        return self._node(row, depth)

    def _is_unmatched(self, row: Invocation) -> bool:
        if row.session_id is not None or row.account is None or row.finished_at is None:
            return False
        return bool(
            imported.find_concurrent_sessions(self.store, row.account, row.row_id, row.created_at, row.finished_at)
        )

    def _session(self, row: Invocation) -> SessionFacts:
        session_id = row.session_id or row.uuid  # a CLI that tells no id has it under that of the run
        counts = entries.count(self.store, row.account or "", session_id)
        if row.account is None or (row.session_id is None and not counts.entries):
            return SessionFacts()
        path, state = self._locate(row.account, row.session_id)
        return SessionFacts(
            chain_id=chains.chain_of(self.store, row.account, session_id),
            transcript_path=path,
            transcript_state=state,
            entries=counts.entries,
            assistant_entries=counts.assistant,
            sidechain_entries=counts.sidechain,
        )

    def _transcript(self, row: Invocation) -> tuple[Mapping[str, object], ...]:
        if row.account is None:
            return ()
        return tuple(
            {
                "turn_id": entry.entry_id,
                "role": entry.role,
                "timestamp": entry.timestamp,
                "body_state": "missing" if entry.body is None else "available",
                "content": None if entry.body is None else json.loads(entry.body),
            }
            for entry in entries.of_session(self.store, row.account, row.session_id or row.uuid)
        )

    def _locate(self, account: str, session_id: str | None) -> tuple[str | None, TranscriptState]:
        if session_id is None:
            return None, TranscriptState.UNRESOLVED
        key = (account, session_id)
        if key not in self._located:
            self._located[key] = self._run_locator(account, session_id)
        return self._located[key]

    def _run_locator(self, account: str, session_id: str) -> tuple[str | None, TranscriptState]:
        scripts = self.scripts().get(account)
        if scripts is None or scripts.transcript_locator is None:
            return None, TranscriptState.NO_LOCATOR
        state_dir = scripts.state_dir or self.sessions_root / account
        lines = self._locate_lines(scripts.transcript_locator, session_id, state_dir)
        if len(lines) != 1:
            return None, TranscriptState.MISSING
        found = Path(lines[0])
        is_there = found.is_absolute() and found.exists()
        return lines[0], TranscriptState.AVAILABLE if is_there else TranscriptState.MISSING

    def _locate_lines(self, command: str, session_id: str, state_dir: Path) -> list[str]:
        # 20 ms, and only a session that is to be located needs them.
        from oulipoly_engine.adapters.bundled import place_call, run_place  # noqa: PLC0415
        from oulipoly_engine.process.command import inherited_environment  # noqa: PLC0415
        from oulipoly_engine.process.script import run_script  # noqa: PLC0415

        call = place_call(command, self.home)
        if call is not None:
            done = run_place(call, session_id)
            output = done.stdout if done.exit_code == 0 else ""
        else:
            env = inherited_environment() | {"SESSION_ID": session_id, "STATE_DIR": str(state_dir)}
            result = run_script(command, env, timeout_s=_LOCATOR_TIMEOUT_S)
            output = result.stdout.decode("utf-8", "surrogateescape") if result.succeeded else ""
        return [line for line in output.splitlines() if line.strip()]
