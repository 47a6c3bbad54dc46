"""An interactive run: a CLI in the user's own terminal, recorded like every other run, with the session it has made."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core import compose, markers
from oulipoly_engine.core.acceptance import judge
from oulipoly_engine.core.accounts import Account, Model, Settings, StorageType
from oulipoly_engine.core.capture import told_on_leaving
from oulipoly_engine.core.categories import Category
from oulipoly_engine.core.explain import decision_to_json
from oulipoly_engine.core.invocations import Outcome, Status
from oulipoly_engine.core.resolve import UNKNOWN_MODEL
from oulipoly_engine.core.storage_root import storage_root
from oulipoly_engine.errors import AccountUnusable, Interrupted, PoolExhausted, SpawnFailed
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.process.through import Passed, pass_through
from oulipoly_engine.service import lost, results
from oulipoly_engine.service.freshness import Freshness
from oulipoly_engine.service.invoke import Chosen
from oulipoly_engine.service.owner import claude_sessions
from oulipoly_engine.service.select import decide
from oulipoly_engine.store import chains, invocations
from oulipoly_engine.store.db import Store

_RETURN_CHANNEL = "OULIPOLY_RETURN_CHANNEL"  # belongs to a one-shot: whoever talks to a person returns nothing


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run whose row is written and whose CLI is still to be started."""

    command: Command
    row_id: int
    uuid: str


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts interactive runs."""

    store: Store
    accounts: Mapping[str, Account]
    settings: Settings
    results_folder: Path
    clock: Clock
    home: Path
    note: Callable[[str], None]
    is_shown: bool  # stderr is the user's terminal: nothing is written there that only scripts read
    freshness: Freshness | None = None

    def launch(
        self,
        choose: Callable[[Guard], Chosen],
        working_directory: Callable[[], Path],
        parent: markers.ParentRef | None = None,
    ) -> int:
        """Run the chosen account's CLI to its end and return its exit code.

        choose: called once signals are ours to answer. working_directory: asked after it.
        Raises RunnerError when nothing could be started.
        """
        with interruptible() as guard:
            lost.close_lost(self.store, self.clock)
            chosen = choose(guard)
            return self._run(chosen, working_directory(), parent, guard)

    def from_pool(self, model: Model, guard: Guard) -> Chosen:
        """Choose among the members of a pool that can be talked to. Raises PoolExhausted or AccountUnusable."""
        able = tuple(member for member in model.members if self._can_talk(member.account))
        if not able:
            for one in model.members:
                compose.interactive(self._account(one.account), one)  # raises, and says what is missing
        pool = replace(model, members=able)
        if self.freshness is not None:
            guard.arm()
            self.freshness.before_choice(tuple(member.account for member in able), self.settings.routing_ttl_s)
            guard.disarm()
        decision = decide(self.store, pool, self.settings, self.clock.now())
        member = next((member for member in able if member.index == decision.index), None)
        if member is None:
            raise PoolExhausted(decision.error or f"all providers in pool {model.name} are quota-exhausted")
        return Chosen(member.account, member, decision_to_json(decision), model.name)

    def alone(self, name: str) -> Chosen:
        """Choose an account by name, without any model. Raises AccountUnusable."""
        compose.interactive(self._account(name))
        return Chosen(name, None, None, UNKNOWN_MODEL)

    def _can_talk(self, name: str) -> bool:
        account = self.accounts.get(name)
        return account is not None and account.interactive_args is not None

    def _account(self, name: str) -> Account:
        account = self.accounts.get(name)
        if account is None:
            message = f"there is no account {name!r} in providers.toml: add it, or correct the name"
            raise AccountUnusable(message)
        return account

    def prepare(
        self,
        chosen: Chosen,
        working_directory: Path,
        parent: markers.ParentRef | None = None,
        *,
        owner_pid: int | None = None,
    ) -> Prepared:
        """Write the row of a run and return what to start. Raises AccountUnusable.

        owner_pid: whose death means that nobody will record the end; None: somebody else watches over it.
        """
        account = self._account(chosen.account)
        identity = str(uuid.uuid4())
        resume = () if chosen.resumes is None else compose.resume_args(account, chosen.resumes)
        if chosen.forks is not None:
            resume = compose.fork_args(account, chosen.forks)
        env = compose.environment(inherited_environment(), account) | markers.parent_env(account.name, identity)
        env.pop(_RETURN_CHANNEL, None)
        command = Command(compose.interactive(account, chosen.member, resume_args=resume), env, working_directory)
        return Prepared(command, self._begin(identity, chosen, working_directory, parent, owner_pid), identity)

    def _run(self, chosen: Chosen, working_directory: Path, parent: markers.ParentRef | None, guard: Guard) -> int:
        account = self._account(chosen.account)
        guard.check()
        prepared = self.prepare(chosen, working_directory, parent, owner_pid=os.getpid())
        command, row_id, identity = prepared.command, prepared.row_id, prepared.uuid
        watch = _LiveSession(account, self.home)
        self.store.close()  # a talk may last for days
        try:
            passed = pass_through(command, watch.begin, watch.look)
        except BaseException as error:
            reason = "spawn_error" if isinstance(error, SpawnFailed) else "guard_drop"
            text = error.message if isinstance(error, SpawnFailed) else None
            category = reason if isinstance(error, SpawnFailed) else None
            invocations.end(self.store, row_id, Outcome(False, -1, self.clock.now(), category, reason, text))
            raise
        outcome = self._outcome(chosen, account, passed)
        invocations.end(self.store, row_id, outcome)
        outcome = self._attach(chosen, identity, outcome, watch.hints(passed.tail), guard)
        self._write_result(chosen, identity, outcome)
        return outcome.exit_code if passed.stopped_for is None else 128 + passed.stopped_for

    def _begin(
        self,
        identity: str,
        chosen: Chosen,
        working_directory: Path,
        parent: markers.ParentRef | None,
        owner_pid: int | None,
    ) -> int:
        row_id = invocations.begin(
            self.store,
            invocations.NewInvocation(
                uuid=identity,
                model=chosen.model_name,
                account=chosen.account,
                member_index=None if chosen.member is None else chosen.member.index,
                created_at=self.clock.now(),
                parent=None if parent is None else (parent.source, parent.id),
                working_directory=str(working_directory),
                owner_pid=owner_pid,
                session_id=chosen.resumes,
                capture_method="none" if chosen.resumes is None else "resumed",
                resume_input_id=chosen.asked_id,
                decision_json=None
                if chosen.decision is None
                else json.dumps(chosen.decision, ensure_ascii=False, separators=(",", ":")),
            ),
        )
        if not self.is_shown:
            self.note(markers.invocation_line(chosen.account, identity))
            if chosen.resumes is not None:
                link = markers.SessionLink(identity, chosen.account, chosen.resumes, chosen.chain_id, chosen.asked_id)
                self.note(markers.session_line(link))
        return row_id

    def _outcome(self, chosen: Chosen, account: Account, passed: Passed) -> Outcome:
        success = passed.exit_code == 0 and passed.stopped_for is None
        outcome = Outcome(
            success=success,
            exit_code=passed.exit_code if passed.stopped_for is None else 128 + passed.stopped_for,
            finished_at=self.clock.now(),
            terminal_reason=_terminal_reason(passed),
        )
        if chosen.resumes is None:
            return outcome
        text = passed.tail.decode("utf-8", "replace")
        found = judge(account.acceptance, chosen.resumes, passed.exit_code, text, "")
        return replace(
            outcome,
            error_category=Category.RESUME_SESSION_MISMATCH.value if found.is_mismatch and not success else None,
            session_id=None if found.is_mismatch else chosen.resumes,
            capture_method="resumed",
            acceptance_status=found.status.value,
            acceptance_evidence=found.evidence,
        )

    def _attach(self, chosen: Chosen, identity: str, outcome: Outcome, hints: tuple[str, ...], guard: Guard) -> Outcome:
        """Tie the run to the session that it has made, by the turns that came in."""
        if self.freshness is None:
            return outcome
        session_id = None
        with suppress(Interrupted):  # the run itself has ended, and its row is final
            guard.arm()
            if chosen.resumes is None:
                session_id = self.freshness.after_run(chosen.account, identity, hints)
            else:
                self.freshness.catch_up(chosen.account)
            guard.disarm()
        return outcome if session_id is None else replace(outcome, session_id=session_id)

    def _write_result(self, chosen: Chosen, identity: str, outcome: Outcome) -> None:
        session_id = outcome.session_id or chosen.resumes
        result = markers.InvocationResult(
            id=identity,
            status=Status.SUCCEEDED if outcome.success else Status.FAILED,
            success=outcome.success,
            exit_code=outcome.exit_code,
            error_category=outcome.error_category,
            terminal_reason=outcome.terminal_reason,
            finished_at=outcome.finished_at,
            provider_name=chosen.account,
            provider_session_id=session_id,
            chain_id=None if session_id is None else chains.chain_of(self.store, chosen.account, session_id),
        )
        try:
            results.write(self.results_folder, identity, markers.result_line(result))
        except OSError as error:
            self.note(f"Warning: cannot keep the result file of {identity}: {error.strerror or error}")


@dataclass(slots=True)
class _LiveSession:
    """The sessions that a claude has had open in our terminal, by the mark that it keeps of itself."""

    account: Account
    home: Path
    seen: list[str] = field(default_factory=list)  # in order: `/clear` begins another one
    _pid: int = 0

    def begin(self, pid: int) -> None:
        """Take the process that leads the terminal's session."""
        self._pid = pid

    def look(self) -> None:
        """Note what is open now."""
        storage = self.account.storage
        if storage is None or storage.storage_type is not StorageType.CLAUDE_CODE:
            return
        root = storage_root(self.account, self.home)
        for pid, state in () if root is None else claude_sessions(root):
            name = state.get("sessionId")
            if isinstance(name, str) and self._is_ours(pid) and name not in self.seen[-1:]:
                self.seen.append(name)

    def hints(self, tail: bytes) -> tuple[str, ...]:
        """Return the ids that the run may have left, the surest first."""
        told = told_on_leaving(tail)
        return tuple(dict.fromkeys([*([] if told is None else [told]), *reversed(self.seen)]))

    def _is_ours(self, pid: int) -> bool:
        with suppress(OSError):
            return os.getsid(pid) == self._pid
        return False


def _terminal_reason(passed: Passed) -> str | None:
    if passed.stopped_for is not None:
        return f"interrupted: signal {int(passed.stopped_for)}"
    return f"killed by signal {passed.killed_by}" if passed.killed_by is not None else None
