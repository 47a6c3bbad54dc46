"""The one-shot: a prompt goes through a pool to a CLI and back, and leaves a record.

Order of events, which the contract fixes: the store opens before anything is spawned; the decision and the row are
written before the spawn; the row becomes final on every way out; the result marker comes last.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core import compose, markers
from oulipoly_engine.core.accounts import Account, Model, PoolMember, PromptMode, Settings
from oulipoly_engine.core.categories import Category
from oulipoly_engine.core.decision import Decision
from oulipoly_engine.core.explain import decision_to_json
from oulipoly_engine.core.invocations import Outcome, Status
from oulipoly_engine.errors import AccountUnusable, Interrupted, PoolExhausted, PromptMissing, RunnerError
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.service import results
from oulipoly_engine.service.attempt import Attempt, Attempted, Face, attempt, with_category
from oulipoly_engine.service.diagnosis import Diagnoser
from oulipoly_engine.service.freshness import Freshness
from oulipoly_engine.service.select import decide
from oulipoly_engine.store import chains, invocations, quotas
from oulipoly_engine.store.db import Store

PROMPT_RESOLUTION = "prompt_resolution"
PROVIDER_SELECTION = "provider_selection"
PROVIDER_RESOLUTION = "provider_resolution"
POOL_EXHAUSTED = "pool_exhausted"
BLOCKED = "BLOCKED:all-providers-exhausted"


@dataclass(frozen=True, slots=True)
class Request:
    """What a one-shot is asked to do."""

    model: Model
    prompt: str
    working_directory: Path  # absolute
    input_args: tuple[str, ...] = ()
    parent: markers.ParentRef | None = None
    timeout_s: float | None = None  # None: the account's own limit, if it has one


@dataclass(frozen=True, slots=True)
class Invoked:
    """How a one-shot ended."""

    result: markers.InvocationResult
    exit_code: int
    last_byte: int | None  # of what went to stdout
    error: RunnerError | None = None  # to be said, when the CLI never started or our output failed
    stdout_closed: bool = False


class DispatchFailed(RunnerError):
    """No invocation came about, or the pool ran out; `failure` is what OULIPOLY_FAILURE says."""

    def __init__(self, failure: markers.PreInvocationFailure, cause: RunnerError) -> None:
        super().__init__(cause.message, **cause.extra)
        self.slug = cause.slug
        self.exit_code = cause.exit_code
        self.failure = failure


@dataclass(slots=True)
class Invoker:
    """Runs one-shots against one store and one configuration."""

    store: Store
    accounts: Mapping[str, Account]
    settings: Settings
    diagnoser: Diagnoser
    results_folder: Path
    clock: Clock
    face: Face
    freshness: Freshness | None = None  # None: choose by what is stored, and attach no session

    def invoke(self, request: Request) -> Invoked:
        """Run a prompt on the best account of its pool, and on the next one when that account's quota is spent.

        Raises DispatchFailed when no account can be chosen, or when every one tried ran out.
        """
        with interruptible() as guard:
            return self._try_pool(request, guard)

    def _try_pool(self, request: Request, guard: Guard) -> Invoked:
        budget = max(1, len(request.model.members))
        tried: list[str] = []
        for number in range(1, budget + 1):
            self._refresh(request.model, guard)
            decision = self._decide(request, tried)
            if decision.index is None:
                raise self._exhausted(request.model, decision, tried)
            member = next(member for member in request.model.members if member.index == decision.index)
            tried.append(member.account)
            it = self._prepare(request, member)
            row_id = self._begin(request, it, decision, number)
            done = self._attach(it, self._finish(row_id, it, self._run(row_id, it)), guard)
            if not _is_spent(done) or done.forwarded or done.error is not None:
                return self._conclude(row_id, it, done)
            self._write_result(self._result(it, done.outcome, row_id))
            if number < budget:
                self.face.note(f"[routing] provider {member.account} returned quota_exhausted; trying the next account")
        raise self._exhausted(request.model, self._decide(request, tried), tried)

    def _refresh(self, model: Model, guard: Guard) -> None:
        guard.check()
        if self.freshness is None:
            return
        guard.arm()
        names = tuple(dict.fromkeys(member.account for member in model.members))
        self.freshness.before_choice(names, self.settings.routing_ttl_s)
        guard.disarm()

    def _decide(self, request: Request, tried: list[str]) -> Decision:
        return decide(self.store, request.model, self.settings, self.clock.now(), tried)

    def _prepare(self, request: Request, member: PoolMember) -> Attempt:
        try:
            account = self._account(request.model, member)
        except AccountUnusable as error:
            failure = self._failure(PROVIDER_RESOLUTION, error, request.model, (member.account,), member.index)
            raise DispatchFailed(failure, error) from error
        if "\0" in request.prompt and account.prompt_mode is PromptMode.ARG:
            text = "the prompt holds a NUL byte, which no argument can carry: take it out, or use prompt_mode stdin"
            refusal = PromptMissing(text)
            raise DispatchFailed(self._failure(PROMPT_RESOLUTION, refusal, request.model, ()), refusal)
        identity = str(uuid.uuid4())
        env = compose.environment(inherited_environment(), account)
        env |= markers.parent_env(account.name, identity)
        return Attempt(
            uuid=identity,
            account=account,
            member=member,
            prompt=request.prompt,
            env=env,
            input_args=request.input_args,
            working_directory=request.working_directory,
            timeout_s=request.timeout_s,
        )

    def _account(self, model: Model, member: PoolMember) -> Account:
        account = self.accounts.get(member.account)
        if account is None:
            message = (
                f"the pool of model {model.name!r} names the account {member.account!r}, which is not in "
                "providers.toml: add it there, or take it out of the model's file"
            )
            raise AccountUnusable(message)
        compose.one_shot(account, member)  # refuses an account without a command before a row is written
        return account

    def _begin(self, request: Request, it: Attempt, decision: Decision, number: int) -> int:
        parent = request.parent
        row_id = invocations.begin(
            self.store,
            invocations.NewInvocation(
                uuid=it.uuid,
                model=request.model.name,
                account=it.account.name,
                member_index=decision.index,
                created_at=self.clock.now(),
                parent=None if parent is None else (parent.source, parent.id),
                attempt=number,
                working_directory=str(request.working_directory),
                owner_pid=os.getpid(),
                decision_json=json.dumps(decision_to_json(decision), separators=(",", ":")),
            ),
        )
        self.face.note(markers.invocation_line(it.account.name, it.uuid))
        return row_id

    def _run(self, row_id: int, it: Attempt) -> Attempted:
        try:
            return attempt(it, self.face, self.clock)
        except BaseException:
            # A bug, or a signal in the wrong place: the row must not stay running.
            invocations.end(self.store, row_id, Outcome(False, -1, self.clock.now(), None, "guard_drop"))
            raise

    def _finish(self, row_id: int, it: Attempt, done: Attempted) -> Attempted:
        """Diagnose a failure, make the row final, and mark a spent account."""
        if done.capture_error is not None and done.outcome.success:
            self.face.note(f"[session-capture] {done.capture_error}")
        if not done.outcome.success and done.finished is not None and done.finished.stopped_for is None:
            found, interruption = self.diagnoser.diagnose(done.finished)
            done = replace(with_category(done, found.category.value, found.summary), error=interruption)
            self._show_failure(done, found.summary)
        elif done.finished is not None and done.finished.stopped_for == "timeout":
            text = f"stopped at its time limit, after {done.finished.duration_s:.0f} s"
            done = with_category(done, Category.HUNG_SUBPROCESS.value, text)
            self.face.note(f"Error: {it.account.name} was {text} (--timeout, or timeout_seconds in providers.toml)")
        invocations.end(self.store, row_id, done.outcome)
        if _is_spent(done):
            quotas.mark_exhausted(self.store, it.account.name, self.clock.now())
        return done

    def _attach(self, it: Attempt, done: Attempted, guard: Guard) -> Attempted:
        """Find the session of a run that told none, by the turns that it left (contract 5.5)."""
        if self.freshness is None or done.finished is None or done.outcome.session_id is not None:
            return done
        try:
            guard.arm()
            session_id = self.freshness.after_run(it.account.name, it.uuid)
            guard.disarm()
        except Interrupted as interruption:  # the run itself has ended, and its row is final
            return replace(done, error=interruption)
        if session_id is None:
            return done
        return replace(done, outcome=replace(done.outcome, session_id=session_id, capture_method="turn_script"))

    def _show_failure(self, done: Attempted, summary: str) -> None:
        category = done.outcome.error_category
        if summary:
            self.face.note(f"[diagnostics] {category}: {summary}")
        self.face.note(f"[diagnostics: {category}]")

    def _conclude(self, row_id: int, it: Attempt, done: Attempted) -> Invoked:
        if done.forwarded and _is_spent(done):
            self.face.note(
                f"[routing] provider {it.account.name} returned quota_exhausted; not tried elsewhere, because "
                f"{done.forwarded} bytes of its answer had been passed on"
            )
        if done.kept_back and not done.outcome.success:
            self._show_kept_back(done.kept_back)
        result = self._result(it, done.outcome, row_id)
        self._write_result(result)
        return Invoked(
            result,
            exit_code=_own_code(done),
            last_byte=done.last_byte,
            error=None if isinstance(done.error, Interrupted) else done.error,
            stdout_closed=done.stdout_closed,
        )

    def _show_kept_back(self, data: bytes) -> None:
        """Let the user see on stderr what a failed CLI said on stdout: claude says everything there."""
        if b"\0" in data:
            self.face.note(f"[stdout] {len(data)} bytes of binary output of the failed run were not passed on")
            return
        self.face.stderr(data if data.endswith(b"\n") else data + b"\n")

    def _result(self, it: Attempt, outcome: Outcome, row_id: int) -> markers.InvocationResult:
        session_id = outcome.session_id
        return markers.InvocationResult(
            id=it.uuid,
            status=Status.SUCCEEDED if outcome.success else Status.FAILED,
            success=outcome.success,
            exit_code=outcome.exit_code,
            error_category=outcome.error_category,
            terminal_reason=outcome.terminal_reason,
            finished_at=outcome.finished_at,
            provider_name=it.account.name,
            provider_session_id=session_id,
            chain_id=None if session_id is None else chains.chain_of(self.store, it.account.name, session_id),
        )

    def _write_result(self, result: markers.InvocationResult) -> None:
        try:
            results.write(self.results_folder, result.id, markers.result_line(result))
        except OSError as error:
            self.face.note(f"Warning: cannot keep the result file of {result.id}: {error.strerror or error}")

    def _exhausted(self, model: Model, decision: Decision, tried: list[str]) -> DispatchFailed:
        cause = PoolExhausted(decision.error or f"all providers in pool {model.name} are quota-exhausted")
        if not tried:
            return DispatchFailed(self._failure(PROVIDER_SELECTION, cause, model, ()), cause)
        self.face.note(BLOCKED)
        pool = tuple(member.account for member in model.members)
        return DispatchFailed(self._failure(POOL_EXHAUSTED, cause, model, pool), cause)

    def _failure(
        self,
        stage: str,
        cause: RunnerError,
        model: Model,
        attempted: tuple[str, ...],
        index: int | None = None,
    ) -> markers.PreInvocationFailure:
        return markers.PreInvocationFailure(
            stage=stage,
            reason=cause.message,
            model_name=model.name,
            attempted_providers=attempted,
            provider_index=index,
            finished_at=self.clock.now(),
        )


def _is_spent(done: Attempted) -> bool:
    return done.outcome.error_category == Category.QUOTA_EXHAUSTED.value


def _own_code(done: Attempted) -> int:
    """Return our exit code: the child's, 124 for one that we stopped at its time limit, 0 where nobody reads us."""
    if done.error is not None:
        return done.error.exit_code
    if done.stdout_closed:
        return 0
    if done.finished is not None and done.finished.stopped_for == "timeout":
        return 124  # as timeout(1) does
    return done.outcome.exit_code
