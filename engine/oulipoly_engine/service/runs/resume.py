"""Go on with a session: what an id means, with which model, on which account, in which folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.accounts.accounts import Account, Model, PoolMember, Settings
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.resume_decision import describe_resumption
from oulipoly_engine.core.sessions.move import Move, MoveReason, decide_move
from oulipoly_engine.core.sessions.resolve import ResolvedSession, choose_model, pool_refusal
from oulipoly_engine.errors import (
    AccountUnusable,
    Interrupted,
    ModelUnknown,
    RequestRefused,
    RunnerError,
    SessionAmbiguous,
    SessionNotFound,
)
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.quota.choose import candidates, decide
from oulipoly_engine.service.runs.freshness import Freshness
from oulipoly_engine.service.runs.invoke import Chosen
from oulipoly_engine.service.sessions.locate import describe_invocation, find_session, find_typed
from oulipoly_engine.service.sessions.move import Mover
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains, leaves
from oulipoly_engine.store.worktrees import worktrees


class ResumeRequest(Record):
    """What a user asks to go on with."""

    text: str  # an id or, unless it has to be exact, the beginning of one
    model: str | None = None  # None: the session's own
    project: Path | None = None  # None: where the session has been
    to_account: str | None = None  # move it there first
    is_fork: bool = False  # begin a new session with its past, and leave it as it is
    is_exact: bool = False  # the beginning of an id means nothing
    at_end: bool = False  # behind its CLI's own last message, also where the session goes on behind another one


class Resumption(Record):
    """A session ready to go on."""

    wish: ResumeRequest
    session: ResolvedSession  # as it lies now: a move changes the account
    model: Model | None  # None: the account alone, the CLI takes its own default
    working_directory: Path
    reason: str  # why this account, one sentence

    @property
    def model_name(self) -> str:
        """Return the name under which the run is recorded."""
        return self.session.model if self.model is None else self.model.name

    @property
    def asked_id(self) -> str:
        """Return the id that was asked for; where only its beginning was typed, the session's."""
        typed = self.wish.text.lower()
        return typed if typed == self.session.chain_id else self.session.session_id


class Resumer(Record):
    """Finds sessions and settles how they go on."""

    store: Store
    accounts: Mapping[str, Account]
    models: Callable[[], Mapping[str, Model]]  # read when they are needed
    settings: Settings
    mover: Mover
    clock: Clock
    note: Callable[[str], None]
    freshness: Freshness | None = None
    is_shown: bool = False  # stderr is a terminal: longer details are left out
    find_live: Callable[[str], str] | None = None  # gives the live session that has a CLI's session open, "" for none

    def settle(self, wish: ResumeRequest, working_directory: Path) -> Resumption:
        """Return how a session goes on, after a move where one is called for.

        working_directory: ours, for a session whose own folder cannot be told.
        Raises RequestRefused (exit 1 by the contract) with what is wrong and what to do.
        """
        try:
            session = self._find(wish.text, find_session if wish.is_exact else find_typed)
        except (SessionNotFound, SessionAmbiguous) as error:
            raise RequestRefused(error.message) from error
        if not wish.at_end:
            self._refuse_moved(session)
        model = self._model(session, wish.model)
        account = self.account(session.account)
        place = wish.project or self._workspace(session) or working_directory
        self._refuse_boxed(session, place)
        settled = Resumption(wish, session, model, place, f"the session belongs to {session.account}")
        if wish.is_fork:
            if wish.to_account is not None:
                message = "a fork begins where its session lies: leave out --account, or move the fork afterwards"
                raise RequestRefused(message)
            arguments.fork_args(account, "any")  # refused before anything is announced
            return replace(settled, reason=f"a fork begins where its session lies, on {session.account}")
        self._refuse_live(session)
        return self._place(settled, ())

    def _refuse_moved(self, session: ResolvedSession) -> None:
        """Refuse a session that goes on behind an earlier message: no CLI begins there in a terminal or a one-shot."""
        if leaves.find_moved(self.store, session.account, session.session_id) is not None:
            raise RequestRefused(
                f"session {session.chain_id} goes on behind another message than its CLI's last, and CLIs begin there "
                f"in live sessions alone: `agents session send {session.chain_id} TEXT`. Behind the last one it goes "
                f"on with --at-end: `agents repl --resume {session.chain_id} --at-end`"
            )

    def _refuse_live(self, session: ResolvedSession) -> None:
        """Refuse a session that a live session's process has open: two that write one transcript spoil it."""
        live = "" if self.find_live is None else self.find_live(session.session_id)
        if live:
            raise RequestRefused(
                f"session {session.session_id} is open in a live session: `agents session send {live} TEXT` goes on "
                f"there, and `agents session close {live}` ends its process first"
            )

    def _refuse_boxed(self, session: ResolvedSession, place: Path) -> None:
        """Refuse a session of a worktree in which every CLI stands in a box."""
        worktree = worktrees.find_at(self.store, str(place))
        levels = [live.opening.isolation for live in live_sessions.find(self.store, session.session_id)]
        levels += [] if worktree is None else [worktree.isolation]
        if level := next(filter(None, levels), ""):
            raise RequestRefused(
                f"session {session.chain_id} is held at the isolation {level} in its worktree, and a terminal or a "
                f"one-shot would not be: `agents session send {session.chain_id} TEXT` goes on with it"
            )

    def after_quota_failure(self, before: Resumption, tried: Sequence[str]) -> Resumption | None:
        """Return the same session on another account, moved there; None when it has to stay where it is."""
        if before.wish.to_account is not None:
            return None
        after = self._place(before, tried)
        return None if after.session.account == before.session.account else after

    def account(self, name: str) -> Account:
        """Return an account that can resume. Raises AccountUnusable."""
        account = self.accounts.get(name)
        if account is None:
            message = f"the session belongs to account {name!r}, which is not in providers.toml: add it there"
            raise AccountUnusable(message)
        arguments.resume_args(account, "any")
        return account

    def decision(self, settled: Resumption) -> dict[str, object] | None:
        """Return what is stored as the reason of the choice; None for an account without a pool."""
        if settled.model is None:
            return None
        pool = decide(self.store, settled.model, self.settings, self.clock.now(), known=self.accounts)
        return describe_resumption(decision_to_json(pool), settled.session.account, settled.reason)

    def _find(self, text: str, find: Callable[[Store, str, datetime], ResolvedSession]) -> ResolvedSession:
        now = self.clock.now()
        try:
            session = find(self.store, text, now)
        except SessionNotFound as error:
            invocation = invocations.find(self.store, text.lower())
            if invocation is not None:
                raise describe_invocation(invocation, text) from error
            if self.freshness is None or not self.freshness.scan_all():
                raise
            session = find(self.store, text, now)
        run = invocations.find(self.store, session.session_id)
        if run is not None and run.session_id is None:  # what it said is kept, and its CLI knows of no session
            raise describe_invocation(run, text)
        return self._tell_matches(text, session)

    def _tell_matches(self, text: str, session: ResolvedSession) -> ResolvedSession:
        """Say which accounts an id matched, where there were several and scripts may read it."""
        owners = [
            chain.active.account for chain in chains.find_owning_chains(self.store, session.session_id) if chain.active
        ]
        names = sorted(set(owners))
        if len(names) > 1 and not self.is_shown:
            listed = ", ".join(names)
            self.note(f"[resume] session {text} matched {listed}; selected {session.account} by latest use")
        return session

    def _model(self, session: ResolvedSession, explicit: str | None) -> Model | None:
        models = self.models()
        if explicit is not None and explicit not in models:
            raise ModelUnknown(f"Unknown model {explicit!r}: there are {', '.join(models) or 'none'}")
        choice = choose_model(explicit, chains.latest_model(self.store, session.chain_id), session.model, models)
        if choice.missing is not None:
            self.note(
                f"[resume] warning: the session's model {choice.missing!r} is not configured any more; the CLI of "
                f"{session.account} takes its own default"
            )
        if choice.name is None:
            return None
        refusal = pool_refusal(session.session_id, session.account, choice.name, models)
        if refusal is not None:
            raise RequestRefused(refusal)
        return models[choice.name]

    def _workspace(self, session: ResolvedSession) -> Path | None:
        try:
            answer = self.mover.locator.workspace(session)
        except Interrupted:
            raise
        except RunnerError as error:
            problem = error.message
        else:
            if answer.path is not None:
                return answer.path
            problem = answer.problem
        self.note(f"[resume] warning: the session's own folder is not known ({problem}); it goes on in this one")
        return None

    def _place(self, settled: Resumption, tried: Sequence[str]) -> Resumption:
        """Move the session where it should go."""
        wish, session = settled.wish, settled.session
        if wish.to_account is not None:
            if wish.to_account == session.account:
                return settled
            return self._carry_out_move(settled, self._find_target(settled, wish.to_account), MoveReason.MANUAL)
        move = self._move(settled, tried)
        if move is None:
            return settled
        try:
            return self._carry_out_move(settled, move.account, move.reason)
        except Interrupted:
            raise
        except RunnerError as error:
            self.note(f"[migrate] warning: the session stays on {session.account}: {error.message}")
            return settled

    def _move(self, settled: Resumption, tried: Sequence[str]) -> Move | None:
        model = settled.model
        if model is None:
            return None
        names = tuple(dict.fromkeys(member.account for member in model.members))
        movable = self.mover.movable(names)
        if len(names) < 2 or settled.session.account not in movable:
            return None
        if self.freshness is not None and not tried:
            self.freshness.before_choice(names, self.settings.routing_ttl_s)
        now = self.clock.now()
        decide(self.store, model, self.settings, now)  # marks that are outlived go
        gone = [name for name in tried if name != settled.session.account]
        pool = [one for one in candidates(self.store, model, now, self.accounts) if one.account not in gone]
        move = decide_move(pool, settled.session.account, movable, now)
        if move is None or move.reason is MoveReason.EXHAUSTED:
            return move
        stays = model.sticky or chains.is_placed_by_hand(self.store, settled.session.chain_id)
        return None if stays else move

    def _find_target(self, settled: Resumption, target: str) -> str:
        """Return the account that the user named. Raises RequestRefused when the model has no such member."""
        if settled.model is not None and all(member.account != target for member in settled.model.members):
            raise RequestRefused(
                f"account {target!r} is not in the pool of model {settled.model.name!r}: name another with --account"
            )
        return target

    def _carry_out_move(self, settled: Resumption, target: str, reason: MoveReason) -> Resumption:
        session = settled.session
        plan = self.mover.plan(session, target, reason, settled.working_directory)
        self.mover.carry_out(plan)
        self.note(f"[migrate] {session.account} -> {target} reason={reason.value}")
        why = f"moved from {session.account}: {reason.value}"
        return replace(settled, session=replace(session, account=target), reason=why)


class ResumeChoice(Record, frozen=False):
    """The account that has a session, then those to which it can be moved when that one's quota is spent."""

    resumer: Resumer
    settled: Resumption
    taken: int = 0  # nothing goes by it: the session goes on with what it has

    @property
    def budget(self) -> int:
        """Return the size of the model's pool."""
        return 1 if self.settled.model is None else max(1, len(self.settled.model.members))

    def choose(self, _tried: Sequence[str]) -> Chosen:
        """Say which account it is."""
        return tell_choice(self.resumer, self.settled)

    def is_next(self, _chosen: Chosen, _tried: Sequence[str]) -> bool:
        """Tell that the session's own account stays the next one."""
        return True

    def goes_on(self, tried: Sequence[str]) -> bool:
        """Move the session on, if there is anywhere to move it."""
        after = self.resumer.after_quota_failure(self.settled, tried)
        self.settled = after or self.settled
        return after is not None


def tell_choice(resumer: Resumer, settled: Resumption) -> Chosen:
    """Tell the selection line that the contract demands, and return the choice."""
    account = settled.session.account
    if settled.wish.is_fork:
        resumer.note(f"[fork] {settled.session.session_id} -> {account}")
        member, decision = member_of(settled.model, account), resumer.decision(settled)
        return Chosen(account, member, decision, settled.model_name, forks=settled.session.session_id)
    resumer.note(f"[resume] -> {account}")
    return Chosen(
        account,
        member_of(settled.model, account),
        resumer.decision(settled),
        settled.model_name,
        resumes=settled.session.session_id,
        asked_id=settled.asked_id,
        chain_id=settled.session.chain_id,
    )


def member_of(model: Model | None, account: str) -> PoolMember | None:
    """Return an account's entry in a pool."""
    members = () if model is None else model.members
    return next((member for member in members if member.account == account), None)
