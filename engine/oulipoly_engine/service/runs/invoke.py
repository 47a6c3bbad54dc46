"""The one-shot: a prompt goes through a pool to a CLI and back, and leaves a record.

Order of events, which the contract fixes: the store opens before anything is spawned; the decision and the row are
written before the spawn; the row becomes final on every way out; the result marker comes last.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account, CaptureKind, Model, PoolMember, PromptMode, Settings
from oulipoly_engine.core.balance.decision import Decision, ExclusionKind
from oulipoly_engine.core.balance.explain import decision_to_json, exclusion_text
from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import RETURNED_ARTIFACTS, Category, Outcome
from oulipoly_engine.core.runs.session_match import hash_prompt
from oulipoly_engine.errors import (
    AccountUnusable,
    Interrupted,
    PoolExhausted,
    PromptMissing,
    RunnerError,
    StoreUnusable,
)
from oulipoly_engine.events import Event, InvocationEnded, InvocationStarted, Listeners
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import ProcessResult, inherited_environment
from oulipoly_engine.process.liveness import here, start_ticks
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.accounts.environment import read_environment
from oulipoly_engine.service.quota.choose import decide, expect_turns
from oulipoly_engine.service.runs import final_write, orphans, results
from oulipoly_engine.service.runs.attempt import Attempt, Attempted, Face, attempt, refuse_returned, with_category
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.service.runs.return_channel import NOTHING, ReturnChannel
from oulipoly_engine.service.runs.run_text import RunText, SavedPrompt
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.service.extensions.handover import HandOver

PROMPT_RESOLUTION = "prompt_resolution"
PROVIDER_SELECTION = "provider_selection"
PROVIDER_RESOLUTION = "provider_resolution"
POOL_EXHAUSTED = "pool_exhausted"
BLOCKED = "BLOCKED:all-providers-exhausted"

_CHOICES = 5  # for one run, where others begin at the same time


class Request(Record):
    """What a one-shot is asked to do."""

    model: Model | None  # None: the account alone, which only a resumed session knows
    prompt: str
    working_directory: Path  # absolute
    input_args: tuple[str, ...] = ()
    parent: markers.ParentRef | None = None
    timeout_s: float | None = None  # None: the account's own limit, if it has one


class Invoked(Record):
    """How a one-shot ended."""

    result: markers.InvocationResult
    exit_code: int
    last_byte: int | None  # of what went to stdout
    error: RunnerError | None = None  # to be said, when the CLI never started or our output failed
    stdout_closed: bool = False


class Chosen(Record):
    """Who serves the next attempt."""

    account: str
    member: PoolMember | None  # None: the account alone
    decision: Mapping[str, object] | None  # what is stored as the reason
    model_name: str  # under which it is recorded
    resumes: str | None = None  # the session that it goes on with
    asked_id: str | None = None  # what the user named that session by
    chain_id: str | None = None
    forks: str | None = None  # the session whose past a new one begins with


class Choice(Protocol):
    """Who serves a request, attempt by attempt."""

    taken: int  # turns of the longest attempt that was cut off

    @property
    def budget(self) -> int:
        """Return how many attempts there may be."""

    def choose(self, tried: Sequence[str]) -> Chosen:
        """Return who is next. Raises DispatchFailed when nobody can be."""

    def is_next(self, chosen: Chosen, tried: Sequence[str]) -> bool:
        """Tell whether who was chosen is still next, now that nobody else can begin."""

    def goes_on(self, tried: Sequence[str]) -> bool:
        """Tell whether somebody else may be tried after the last one ran out of quota."""


class DispatchFailed(RunnerError):
    """No invocation came about, or the pool ran out; `failure` is what OULIPOLY_FAILURE says."""

    def __init__(self, failure: markers.PreInvocationFailure, cause: RunnerError) -> None:
        super().__init__(cause.message, **cause.extra)
        self.slug = cause.slug
        self.exit_code = cause.exit_code
        self.failure = failure


class Invoker(Record, frozen=False):
    """Runs one-shots against one store and one configuration."""

    store: Store
    accounts: Mapping[str, Account]
    settings: Settings
    ask_diagnosis: Callable[[str], str] | None  # sends a prompt to the diagnostics model; None: there is none
    paths: Paths
    clock: Clock
    face: Face
    freshness: Freshness | None = None  # None: choose by what is stored, and attach no session
    listeners: Listeners | None = None  # are told of each attempt
    hand_over: HandOver | None = None  # of what extensions give to CLIs

    def invoke(self, request: Request, choice: Choice | None = None) -> Invoked:
        """Run a prompt on the best account of its pool, and on the next one when that account's quota is spent.

        choice: who serves instead, for a session that goes on. Raises DispatchFailed when no account can be chosen, or
        when every one tried ran out.
        """
        with interruptible() as guard:
            for orphan in orphans.close_lost(self.store, self.clock.now(), self.paths, elsewhere=True):
                self.face.note(f"[orphan] {orphan.text}; {orphan.remedy}")
            return self._attempts(request, choice or _FromPool(self, request, guard), guard)

    def _attempts(self, request: Request, choice: Choice, guard: Guard) -> Invoked:
        tried: list[str] = []
        for number in range(1, choice.budget + 1):
            guard.check()
            chosen, it, row_id = self._begin_next(request, choice, tried, number)
            tried.append(chosen.account)
            self._tell_begin(it, chosen)
            self._publish(InvocationStarted(self.clock.now(), it.uuid, chosen.model_name, it.account.name))
            with it.channel.lend(self.face.note):
                ended = self._finish(row_id, it, self._run(row_id, it, chosen))
            self._tell_end(it, chosen, ended.outcome)
            done = self._attach(it, ended, guard)
            is_final = not _is_spent(done) or bool(done.forwarded) or done.error is not None
            if is_final or not choice.goes_on(tried):
                return self._conclude(it, done)
            self._write_result(self._result(it, done))
            choice.taken = max(choice.taken, self._count_taken(row_id, it.account.name))
            if number < choice.budget:
                self.face.note(
                    f"[routing] provider {it.account.name} returned quota_exhausted; trying the next account"
                )
        raise self.exhausted_error(request, None, tried)

    def _count_taken(self, row_id: int, account: str) -> int:
        """Return the turns of an attempt that was cut off; 0 where its transcript is not known."""
        if self.freshness is None:
            return 0
        from oulipoly_engine.store.runs import expectations  # noqa: PLC0415 - most runs succeed

        with suppress(StoreUnusable):
            self.freshness.catch_up(account)
            return expectations.read_taken(self.store, row_id)
        return 0

    def _begin_next(
        self, request: Request, choice: Choice, tried: Sequence[str], number: int
    ) -> tuple[Chosen, Attempt, int]:
        """Choose and begin: anew where another run has begun meanwhile, so that another account is next now."""
        for choices_left in reversed(range(_CHOICES)):
            chosen = choice.choose(tried)
            it = self._prepare(request, chosen)
            with self.store.write():  # two that decide at once would see the same, and take the same account
                if not choices_left or choice.is_next(chosen, tried):
                    return chosen, it, self._begin(request, it, chosen, number)
        raise AssertionError(_CHOICES)

    def refresh(self, model: Model, guard: Guard) -> None:
        """Read the pool's quota where it is too old to choose by; a signal interrupts that."""
        guard.check()
        if self.freshness is None:
            return
        guard.arm()
        names = tuple(dict.fromkeys(member.account for member in model.members))
        self.freshness.before_choice(names, self.settings.routing_ttl_s)
        guard.disarm()

    def _prepare(self, request: Request, chosen: Chosen) -> Attempt:
        member = chosen.member
        try:
            account = self._account(request.model, chosen)
            env = read_environment(inherited_environment(), account)
        except AccountUnusable as error:
            index = None if member is None else member.index
            failure = self._failure(PROVIDER_RESOLUTION, error, request.model, (chosen.account,), index)
            raise DispatchFailed(failure, error) from error
        if "\0" in request.prompt and account.prompt_mode is PromptMode.ARG:
            text = "the prompt holds a NUL byte, which no argument can carry: take it out, or use prompt_mode stdin"
            refusal = PromptMissing(text)
            raise DispatchFailed(self._failure(PROMPT_RESOLUTION, refusal, request.model, ()), refusal)
        identity = str(uuid.uuid4())
        channel = ReturnChannel(self.paths, identity)
        env |= markers.parent_env(account.name, identity) | channel.variables
        more_args, more_env = self._hand_over(request, account, member, env)
        gives_id = account.capture.kind is CaptureKind.FORCED_FLAG_VERIFIED and chosen.resumes is None
        return Attempt(
            uuid=identity,
            account=account,
            member=member,
            prompt=request.prompt,
            env={**env, **more_env},
            channel=channel,
            text=self._make_text(identity, account, request.prompt),
            input_args=(*request.input_args, *more_args),
            working_directory=request.working_directory,
            timeout_s=request.timeout_s,
            resumes=chosen.resumes,
            new_session=str(uuid.uuid4()) if gives_id else "",
        )

    def _hand_over(
        self, request: Request, account: Account, member: PoolMember | None, env: Mapping[str, str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """Return the words and variables with which a CLI gets what extensions give; runs of our own get nothing."""
        if self.hand_over is None or (request.model is not None and request.model.purpose):
            return (), {}
        words = (*account.args, *(() if member is None else member.args), *request.input_args)
        handed = self.hand_over.give(account, words, env, asks_nobody=True)
        return handed.words, handed.environment

    def _make_text(self, uuid: str, account: Account, prompt: str) -> RunText:
        """Return what keeps the prompt and the answer of a run."""
        has_script = self.freshness is not None and account.name in self.freshness.scripts
        tells_id = account.capture.kind is not CaptureKind.NONE
        return RunText(self.paths.results, uuid, SavedPrompt(prompt, may_be_told=tells_id, may_be_found=has_script))

    def _account(self, model: Model | None, chosen: Chosen) -> Account:
        account = self.accounts.get(chosen.account)
        if account is None:
            by = "the session" if model is None else f"the pool of model {model.name!r}"
            raise AccountUnusable(
                f"{by} names the account {chosen.account!r}, which is not in providers.toml: add it there, or take it "
                "out of the model's file"
            )
        arguments.compose_one_shot(
            account, chosen.member
        )  # refuses an account without a command before a row is written
        return account

    def _begin(self, request: Request, it: Attempt, chosen: Chosen, number: int) -> int:
        parent = request.parent
        project = str(request.working_directory)
        row_id = invocations.begin(
            self.store,
            invocations.NewInvocation(
                uuid=it.uuid,
                model=chosen.model_name,
                account=it.account.name,
                member_index=None if chosen.member is None else chosen.member.index,
                created_at=self.clock.now(),
                parent=None if parent is None else (parent.source, parent.id),
                attempt=number,
                working_directory=project,
                owner_pid=os.getpid(),
                owner_place=here(),
                session_id=chosen.resumes,
                capture_method="none" if chosen.resumes is None else "resumed",
                resume_input_id=chosen.asked_id,
                decision_json=_render_decision(chosen.decision, it.prompt),
                project=project,
                expected_turns=expect_turns(self.store, chosen.model_name, project).turns,
                planned_session=it.new_session or None,
            ),
        )
        if self.store.has_readers():
            from oulipoly_engine.service.runs.outbox.publish import publish_begin  # noqa: PLC0415 - mostly nobody reads

            publish_begin(self.store, row_id, it.text.clean_prompt())
        return row_id

    def _tell_begin(self, it: Attempt, chosen: Chosen) -> None:
        self.face.note(markers.invocation_line(it.account.name, it.uuid))
        if chosen.resumes is not None:
            link = markers.SessionLink(it.uuid, it.account.name, chosen.resumes, chosen.chain_id, chosen.asked_id)
            self.face.note(markers.session_line(link))

    def _publish(self, event: Event) -> None:
        if self.listeners is not None:
            self.listeners.publish(event)

    def _tell_end(self, it: Attempt, chosen: Chosen, outcome: Outcome) -> None:
        self._publish(
            InvocationEnded(
                self.clock.now(), it.uuid, chosen.model_name, it.account.name, outcome.success, outcome.error_category
            )
        )

    def _run(self, row_id: int, it: Attempt, chosen: Chosen) -> Attempted:
        try:
            return attempt(it, self.face, self.clock, lambda pid: self._record_child(row_id, pid))
        except BaseException:
            # A bug, or a signal in the wrong place: the row must not stay running.
            dropped = Outcome(False, -1, self.clock.now(), None, "guard_drop")
            final_write.end(self.store, row_id, dropped, ())
            self._tell_end(it, chosen, dropped)
            raise

    def _record_child(self, row_id: int, pid: int) -> None:
        with suppress(StoreUnusable):  # only who outlives us is found by it
            invocations.record_child(self.store, row_id, pid, start_ticks(pid))

    def _finish(self, row_id: int, it: Attempt, done: Attempted) -> Attempted:
        """Diagnose a failure, make the row final, and mark a spent account."""
        if done.capture_error is not None and done.outcome.success:
            self.face.note(f"[session-capture] {done.capture_error}")
        if done.outcome.error_category == RETURNED_ARTIFACTS:
            self._show_failure(done, done.outcome.error_text or "")
        elif not done.outcome.success and done.finished is not None and done.finished.stopped_for is None:
            from oulipoly_engine.service.runs.diagnosis import Diagnoser  # noqa: PLC0415 - most runs succeed

            found, interruption = Diagnoser(self.face.note, self.ask_diagnosis).diagnose(done.finished)
            done = replace(with_category(done, found.category.value, found.summary), error=interruption)
            self._show_failure(done, found.summary)
        elif done.finished is not None and done.finished.stopped_for == "timeout":
            text = f"stopped at its time limit, after {done.finished.duration_s:.0f} s"
            done = with_category(done, Category.HUNG_SUBPROCESS.value, text)
            self.face.note(f"Error: {it.account.name} was {text} (--timeout, or timeout_seconds in providers.toml)")
        if not done.outcome.success and done.finished is not None:
            self._keep_last_words(it, done.finished, done.kept_back)
        done, is_final = self._make_final(row_id, it.text, done)
        if _is_spent(done) and is_final:
            at = self.clock.now()
            mark = f"that {it.account.name} is exhausted"
            final_write.write_patiently(
                lambda: quotas.mark_exhausted(self.store, it.account.name, at), mark, self.face.note
            )
        return done

    def _keep_last_words(self, it: Attempt, finished: ProcessResult, kept_back: bytes) -> None:
        from oulipoly_engine.service.runs import last_words  # noqa: PLC0415 - most runs succeed

        said = finished.stderr_tail if finished.stderr_tail.strip() else kept_back
        try:
            last_words.write(self.paths.results, it.uuid, it.prompt, said)
        except OSError as error:
            self.face.note(f"Warning: cannot keep what {it.uuid} said: {error.strerror or error}")

    def _make_final(self, row_id: int, text: RunText, done: Attempted) -> tuple[Attempted, bool]:
        """Make the row final with what was handed back; return how it ended then, and whether that was possible."""
        returned, outcome = done.returned, done.outcome
        if returned.refusal is not None and outcome.error_category != RETURNED_ARTIFACTS:
            self.face.note(f"Warning: nothing of what this run has returned is kept: {returned.refusal}")
        if returned.loss is not None:
            self.face.note(f"Warning: nothing of what this run has returned is kept: {returned.loss}")
        is_final = final_write.make_final(
            self.store, row_id, outcome, self.face.note, returned.receipts, text.clean_answer
        )
        if returned.receipts and not is_final:
            done = replace(done, returned=NOTHING)
            if outcome.success:
                why = "what this run has returned could not be recorded in the state file"
                done = replace(done, outcome=refuse_returned(outcome, why))
                self._show_failure(done, why)
            is_final = final_write.make_final(self.store, row_id, done.outcome, self.face.note)
        for one in done.returned.receipts:
            self.face.note(f"[returned] {one.short_line()}")
        return done, is_final

    def _attach(self, it: Attempt, done: Attempted, guard: Guard) -> Attempted:
        """Find the session of a run that told none, by the turns that it left (contract 5.5)."""
        if self.freshness is None or done.finished is None or it.resumes is not None:
            return done
        if done.outcome.session_id is not None:
            return done
        try:
            guard.arm()
            session_id = self.freshness.after_run(it.account.name, it.uuid, evidence=done.evidence)
            guard.disarm()
        except Interrupted as interruption:  # the run itself has ended, and its row is final
            return replace(done, error=interruption)
        except StoreUnusable as error:
            self.face.note(f"Warning: the session of this run could not be looked for: {error.message}")
            return done
        if session_id is None:
            return done
        return replace(done, outcome=replace(done.outcome, session_id=session_id, capture_method="turn_script"))

    def _show_failure(self, done: Attempted, summary: str) -> None:
        category = done.outcome.error_category
        if summary:
            self.face.note(f"[diagnostics] {category}: {summary}")
        self.face.note(f"[diagnostics: {category}]")

    def _conclude(self, it: Attempt, done: Attempted) -> Invoked:
        if done.forwarded and _is_spent(done):
            self.face.note(
                f"[routing] provider {it.account.name} returned quota_exhausted; not tried elsewhere, because "
                f"{done.forwarded} bytes of its answer had been passed on"
            )
        if done.kept_back and not done.outcome.success:
            self._show_kept_back(done.kept_back)
        result = self._result(it, done)
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

    def _result(self, it: Attempt, done: Attempted) -> markers.InvocationResult:
        outcome = done.outcome
        session_id = outcome.session_id or it.resumes
        chain_id = None if session_id is None else self._chain_of(it.account.name, session_id)
        return results.make_result(it.uuid, it.account.name, session_id, chain_id, outcome, done.returned.receipts)

    def _chain_of(self, account: str, session_id: str) -> str | None:
        from oulipoly_engine.store.sessions import chains  # noqa: PLC0415 - some CLIs name no session

        try:
            return chains.chain_of(self.store, account, session_id)
        except StoreUnusable:  # which has been told when the row was written
            return None

    def _write_result(self, result: markers.InvocationResult) -> None:
        try:
            results.write(self.paths.results, result.id, markers.result_line(result))
        except OSError as error:
            self.face.note(f"Warning: cannot keep the result file of {result.id}: {error.strerror or error}")

    def exhausted_error(self, request: Request, decision: Decision | None, tried: Sequence[str]) -> DispatchFailed:
        """Return the failure of a pool in which nobody can serve; decision: the one that found nobody."""
        model = request.model
        if decision is None and model is not None:
            decision = decide(self.store, model, self.settings, self.clock.now(), tried, known=self.accounts)
        name = "<none>" if model is None else model.name
        text = None if decision is None else decision.error
        cause = PoolExhausted(text or f"all providers in pool {name} are quota-exhausted: {', '.join(tried)}")
        if not tried:
            return DispatchFailed(self._failure(PROVIDER_SELECTION, cause, model, ()), cause)
        self.face.note(BLOCKED)
        pool = tuple(tried) if model is None else tuple(member.account for member in model.members)
        return DispatchFailed(self._failure(POOL_EXHAUSTED, cause, model, pool), cause)

    def _failure(
        self,
        stage: str,
        cause: RunnerError,
        model: Model | None,
        attempted: tuple[str, ...],
        index: int | None = None,
    ) -> markers.PreInvocationFailure:
        return markers.PreInvocationFailure(
            stage=stage,
            reason=cause.message,
            model_name=None if model is None else model.name,
            attempted_providers=attempted,
            provider_index=index,
            finished_at=self.clock.now(),
        )


def _render_decision(decision: Mapping[str, Any] | None, prompt: str) -> str | None:
    """Return a decision as it is kept, with what tells the prompt: a run whose runner is killed has nothing else."""
    if decision is None:
        return None
    kept = {**decision, "prompt_hash": hash_prompt(prompt)}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


class _FromPool(Record, frozen=False):
    """The balancer's choice among a model's pool."""

    invoker: Invoker
    request: Request
    guard: Guard
    taken: int = 0

    @property
    def budget(self) -> int:
        """Return the size of the pool."""
        return max(1, len(self._model().members))

    def choose(self, tried: Sequence[str]) -> Chosen:
        """Read what is stale, then decide."""
        model, invoker = self._model(), self.invoker
        invoker.refresh(model, self.guard)
        decision = self._decide(tried)
        for verdict in () if tried else decision.verdicts:
            if verdict.exclusion is ExclusionKind.UNKNOWN:
                name = verdict.candidate.account
                invoker.face.note(f"Warning: {name}, of model {model.name}, {exclusion_text(verdict)}")
        if decision.index is None:
            raise invoker.exhausted_error(self.request, decision, tried)
        member = next(member for member in model.members if member.index == decision.index)
        return Chosen(member.account, member, decision_to_json(decision), model.recorded_name)

    def is_next(self, chosen: Chosen, tried: Sequence[str]) -> bool:
        """Decide again, by the runs that have begun meanwhile."""
        return self._decide(tried).account == chosen.account

    def goes_on(self, tried: Sequence[str]) -> bool:
        """Tell that the next account may always be tried: if nobody is left, that is the failure."""
        return True

    def _decide(self, tried: Sequence[str]) -> Decision:
        at = self.invoker
        project = str(self.request.working_directory)
        return decide(
            at.store,
            self._model(),
            at.settings,
            at.clock.now(),
            tried,
            known=at.accounts,
            project=project,
            taken=self.taken,
        )

    def _model(self) -> Model:
        if self.request.model is None:
            raise AccountUnusable("a prompt without a session needs a model")
        return self.request.model


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
