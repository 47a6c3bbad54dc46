"""An interactive run: a CLI in the user's own terminal, recorded like every other run, with the session it has made."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import variables
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account, Model, Settings, StorageType
from oulipoly_engine.core.accounts.storage_root import storage_root
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.errors import AccountUnknown, Interrupted, PoolExhausted, SpawnFailed
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.liveness import here
from oulipoly_engine.process.passthrough import pass_through
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.environment import read_environment
from oulipoly_engine.service.interactive.endings import Endings, Last, Ran
from oulipoly_engine.service.quota.choose import decide
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.service.runs.invoke import Chosen
from oulipoly_engine.service.sessions import open_sessions
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.service.extensions.handover import HandOver


class Prepared(Record):
    """A run whose row is written and whose CLI is still to be started."""

    command: Command
    row_id: int
    uuid: str


class Launcher(Record):
    """Starts interactive runs."""

    store: Store
    accounts: Mapping[str, Account]
    settings: Settings
    paths: Paths
    clock: Clock
    note: Callable[[str], None]
    is_shown: bool  # stderr is the user's terminal: nothing is written there that only scripts read
    freshness: Freshness | None = None
    hand_over: HandOver | None = None  # of what extensions give to CLIs

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
            chosen = choose(guard)
            return self._run(chosen, working_directory(), parent, guard)

    def from_pool(
        self, model: Model, guard: Guard, refusals: Mapping[str, str] | None = None, project: str = ""
    ) -> Chosen:
        """Choose among the members of a pool that can serve. Raises PoolExhausted or AccountUnusable.

        refusals: by account, why it cannot; None: those whose CLI cannot be talked to in a terminal cannot.
        project: the folder whose runs tell how long the next will be.
        """
        if refusals is None:
            silent = [each for each in model.members if not self._can_talk(each.account)]
            if len(silent) == len(model.members):
                for each in silent:
                    arguments.interactive(self._account(each.account), each)  # raises, and says what is missing
            refusals = {each.account: "its CLI cannot be talked to in a terminal" for each in silent}
        able = tuple(member for member in model.members if member.account not in refusals)
        if self.freshness is not None:
            guard.arm()
            self.freshness.before_choice(tuple(member.account for member in able), self.settings.routing_ttl_s)
            guard.disarm()
        now = self.clock.now()
        decision = decide(
            self.store, model, self.settings, now, known=self.accounts, refusals=refusals, project=project
        )
        member = next((member for member in able if member.index == decision.index), None)
        if member is None:
            raise PoolExhausted(decision.error or f"all providers in pool {model.name} are quota-exhausted")
        return Chosen(member.account, member, decision_to_json(decision), model.name)

    def alone(self, name: str) -> Chosen:
        """Choose an account by name, without any model. Raises AccountUnusable."""
        arguments.interactive(self._account(name))
        return Chosen(name, None, None, UNKNOWN_MODEL)

    def claude_root(self, account: Account) -> Path | None:
        """Return the `projects` folder in which an account's claude marks the sessions it has open; None: not one."""
        storage = account.storage
        is_claude = storage is not None and storage.storage_type is StorageType.CLAUDE_CODE
        return storage_root(account, self.paths.home) if is_claude else None

    def _can_talk(self, name: str) -> bool:
        account = self.accounts.get(name)
        return account is not None and account.interactive_args is not None

    def _account(self, name: str) -> Account:
        account = self.accounts.get(name)
        if account is None:
            raise AccountUnknown(f"there is no account {name!r} in providers.toml: add it, or correct the name")
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
        resume = () if chosen.resumes is None else arguments.resume_args(account, chosen.resumes)
        if chosen.forks is not None:
            resume = arguments.fork_args(account, chosen.forks)
        env = markers.without_channel(read_environment(inherited_environment(), account))
        env |= markers.parent_env(account.name, identity) | {variables.ARTIFACT_STORE: str(self.paths.artifacts)}
        if self.hand_over is not None:
            handed = self.hand_over.give(account, arguments.interactive(account, chosen.member), env, asks_nobody=False)
            resume = (*handed.words, *resume)
            env |= handed.environment
        command = Command(arguments.interactive(account, chosen.member, resume_args=resume), env, working_directory)
        return Prepared(command, self._begin(identity, chosen, working_directory, parent, owner_pid), identity)

    def _run(self, chosen: Chosen, working_directory: Path, parent: markers.ParentRef | None, guard: Guard) -> int:
        account = self._account(chosen.account)
        guard.check()
        prepared = self.prepare(chosen, working_directory, parent, owner_pid=os.getpid())
        command, row_id, identity = prepared.command, prepared.row_id, prepared.uuid
        ran = Ran(row_id, identity, chosen.account, chosen.resumes, account.acceptance)
        watch = _LiveSession(self.claude_root(account))
        self.store.close()  # a talk may last for days
        try:
            passed = pass_through(command, watch.begin, watch.look)
        except BaseException as error:
            reason = "spawn_error" if isinstance(error, SpawnFailed) else "guard_drop"
            text = error.message if isinstance(error, SpawnFailed) else None
            category = reason if isinstance(error, SpawnFailed) else None
            invocations.end(self.store, row_id, Outcome(False, -1, self.clock.now(), category, reason, text))
            raise
        endings = Endings(self.store, self.paths.results, self.clock, self.note)
        outcome = endings.end(ran, Last(passed.exit_code, passed.killed_by, passed.tail, passed.stopped_for))
        if self.freshness is not None:
            with suppress(Interrupted):  # the run itself has ended, and its row is final
                guard.arm()
                outcome = endings.attach(ran, outcome, self.freshness, open_sessions.hints(watch.seen, passed.tail))
                guard.disarm()
        endings.write_result(ran, outcome)
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
                owner_place=None if owner_pid is None else here(),
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


class _LiveSession(Record, frozen=False):
    """What the CLI in our terminal has open."""

    root: Path | None  # claude's `projects` folder; None: nothing is to be seen
    seen: tuple[str, ...] = ()
    _pid: int = 0

    def begin(self, pid: int) -> None:
        """Take the process that leads the terminal's session."""
        self._pid = pid

    def look(self) -> None:
        """Note what is open now."""
        if self.root is not None:
            self.seen = open_sessions.list_open(self.root, self._pid, self.seen)
