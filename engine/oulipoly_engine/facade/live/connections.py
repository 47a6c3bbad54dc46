"""Live sessions found, started and reached: the part of `LiveSessions` that the rest stands on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from oulipoly_engine.core.checks.alerts import Alert, of_request
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live.events import AnyEvent, OrderFailed, SessionOpened, TurnEnded, TurnStarted
from oulipoly_engine.core.live.launch.catalogue import Catalogue
from oulipoly_engine.core.live.orders import Cancel, Close, Compact, Order, Review, verb_of
from oulipoly_engine.core.live.requests import NoTurnRuns, SessionIsOneshot, SessionLost, SessionOpening
from oulipoly_engine.core.live.retry import Policy
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, why_elsewhere
from oulipoly_engine.core.quota.windows import is_used_up
from oulipoly_engine.core.runs.markers import ParentRef
from oulipoly_engine.core.sessions.compaction import Rules
from oulipoly_engine.errors import (
    AccountExhausted,
    AccountUnusable,
    LiveSessionNotFound,
    RequestRefused,
    RunnerError,
    SessionBusy,
)
from oulipoly_engine.facade.base.home import find_only
from oulipoly_engine.facade.live.requests import LiveRequests
from oulipoly_engine.facade.live.turn_results import last_end
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.private_files import keep_first, make_folder
from oulipoly_engine.process.liveness import has_ended_mark, own_mark
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import (
    find_moved_leaf,
    find_refusal,
    give_preface,
    leave_branch,
    prepare_branch,
)
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.launch import LiveLauncher, options_of
from oulipoly_engine.service.live.protocol import SESSION_ENDS
from oulipoly_engine.service.live.session_host import LiveHost
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_events, live_sessions
from oulipoly_engine.store.quota import quotas

_START_S = 30.0  # for the host of another process, which is coming or going
_ANSWER_S = 10.0  # that a CLI may take to say what it makes of an order
_LOOK_S = 0.5  # between two looks at whether a host still lives, or a session has been opened


class LiveConnections(LiveRequests):
    """Ways to the processes of the live sessions of one user."""

    def _start_new(
        self,
        store: Store,
        session: LiveSession,
        decision_json: str | None = None,
        parent: ParentRef | None = None,
        *,
        has_prompt: bool = False,
    ) -> None:
        """Start the first process of a session; where that fails the session goes: nobody has used it."""
        try:
            self._start(store, session, decision_json, parent, has_prompt=has_prompt)
        except RunnerError:
            live_sessions.drop_unused(store, session.session_id)
            raise

    def _start(
        self,
        store: Store,
        session: LiveSession,
        decision_json: str | None = None,
        parent: ParentRef | None = None,
        *,
        has_prompt: bool = False,
    ) -> LiveHost | None:
        catalogue = self.catalogue()
        runtime = catalogue.find(session.runtime_id)
        if runtime is None:
            raise AccountUnusable(
                f"the runtime {session.runtime_id!r} of this session is not configured any more: add it again, or fork "
                f"the session to another one with `agents session fork {session.session_id} --to RUNTIME`"
            )
        if why := why_elsewhere(session, runtime):
            raise AccountUnusable(
                f"{why}: correct that in config.toml, or fork the session with `agents session fork "
                f"{session.session_id}`"
            )
        if session.lifecycle == "oneshot" and session.generation:
            raise SessionIsOneshot("a one-shot session takes one message, and has had it; fork it to go on")
        refuse_fenced(session)
        if session.generation:
            self._refuse_exhausted(store, session, catalogue)
        session = self._begin_branch(store, session)
        if find_refusal(store, session):
            session = give_preface(store, session, self._home.now())
        files = self._home.files
        settings = files.settings()
        launcher = LiveLauncher(
            store,
            files.accounts(),
            self._home.paths,
            self._home.clock,
            self._compaction_rules(),
            keeps_files=settings.keep_turn_files,
            writes_files=bool(settings.session_dir),
            answer_tokens=settings.max_response_tokens or settings.max_tokens,
            temperature=settings.temperature if settings.default_temperature is None else settings.default_temperature,
            command_s=settings.tool_timeout_seconds,
            extensions=self._home.extensions.order,
            hand_over=self._home.hand_over(store, files.settings()),
            retry=self._retry_policy(),
        )
        self._home.settle_telemetry(store, is_on=files.settings().telemetry)
        cli = catalogue.clis.get(runtime.id)
        last = self._last_number(session.session_id)
        host = launcher.start(session, runtime, cli, decision_json=decision_json, parent=parent, has_prompt=has_prompt)
        if session.is_branching and session.opening.fork_of:
            self._wait_for_opened(session.session_id, last)
            if find_refusal(store, self.find(session.session_id)):
                return self._start(store, self.find(session.session_id))
        return host

    def _compaction_rules(self) -> Rules:
        settings = self._home.files.settings()
        return Rules(
            settings.auto_compaction,
            settings.compaction_threshold,
            settings.compaction_keep_recent,
            settings.compaction_window,
        )

    def _retry_policy(self) -> Policy:
        settings = self._home.files.settings()
        return Policy(settings.retry_attempts, settings.retry_base_ms, settings.retry_cap_ms)

    def _wait_for_opened(self, session_id: str, after: int = 0) -> None:
        """Wait until a session is open, or its process has ended. after: the number of the last event before."""
        is_open = False
        with suppress(HostUnreachable, HostGone), hosts.reach(self._home.paths, session_id, self._client) as client:
            client.follow(after, deltas=False)
            while not is_open:
                is_open = any(isinstance(numbered.event, SessionOpened) for numbered in client.wait(_LOOK_S))
        if not is_open:
            hosts.wait_for_end(self._home.paths, session_id)

    def _begin_branch(self, store: Store, session: LiveSession) -> LiveSession:
        """Have a session whose leaf is not its end go on behind that; return it as it is then."""
        leaf = find_moved_leaf(store, session)
        if leaf is None:
            return leave_branch(store, session, self._home.now()) if session.is_branching else session
        if any(
            branch.native_id == session.native_id and branch.entry_id == leaf for branch in session.opening.branches
        ):
            return session
        return prepare_branch(store, session, leaf, self._home.now())

    def _refuse_exhausted(self, store: Store, session: LiveSession, catalogue: Catalogue) -> None:
        """Raise AccountExhausted where a session's account has no quota left; names a runtime that has."""
        others = self._others(store, session, catalogue)
        if others is None:
            return
        to = f" --to {others[0]}" if others else " --to RUNTIME, when one has quota again"
        raise AccountExhausted(
            f"the account {session.account} of this session is exhausted: go on with another one by `agents session "
            f"fork {session.session_id}{to}`; `agents account clear {session.account}` takes the mark away"
        )

    def _others(self, store: Store, session: LiveSession, catalogue: Catalogue) -> tuple[str, ...] | None:
        """Return the runtimes that have quota; None where the session's own account has some left."""
        runtimes = [each for each in catalogue.runtimes if each.account]
        states, now = quotas.states(store, [each.account for each in runtimes]), self._home.now()
        exhausted = {name for name, quota in states.items() if is_used_up(quota, now)}
        if session.account not in exhausted:
            return None
        return tuple(each.id for each in runtimes if each.is_enabled and each.account not in exhausted)

    def runtimes_instead(self, identity: str) -> tuple[str, ...]:
        """Return where a session can be forked to because its account is exhausted; empty where it is not."""
        session = self.find(identity)
        with self._home.lend_store_to_read() as store:
            return self._others(store, session, self.catalogue()) or ()

    def catalogue(self) -> Catalogue:
        """Return the runtimes as they are configured."""
        from oulipoly_engine.facade.live.catalogue import catalogue_of  # noqa: PLC0415 - the first to ask pays

        return catalogue_of(self._home)

    def request_alert(self, request: LiveRequest) -> Alert:
        """Return a request as what wants a person, by the title of its session."""
        try:
            title = self.find(request.session_id).title
        except RunnerError:
            title = ""
        return of_request(request, title)

    def find(self, identity: str) -> LiveSession:
        """Return the session whose id, or whose CLI's id, begins so. Raises RequestRefused."""
        with self._home.lend_store_to_read() as store:
            found = live_sessions.find(store, identity) if identity else ()
        none = f"there is no live session {identity!r}: `agents session list --live` lists them"
        return find_only(found, lambda one: one.session_id, identity, "live sessions", LiveSessionNotFound(none))

    def find_or_adopt(self, identity: str) -> LiveSession:
        """Return the session that is meant; a recorded one is made a live session first. Raises as `find`, `adopt`."""
        try:
            return self.find(identity)
        except LiveSessionNotFound:
            from oulipoly_engine.facade.live.recorded import adopt  # noqa: PLC0415 - hardly any is
            from oulipoly_engine.facade.sessions.catalogue import catalogue, describe  # noqa: PLC0415 - as above

            with self._home.lend_store() as store:
                describe(catalogue(self._home, store), 0.0)  # its folder may not be known yet
                session = adopt(store, identity, self.catalogue(), self._home.files.accounts(), self._home.now())
            if session is None:
                raise
            return session

    def find_latest(self, folder: Path) -> LiveSession:
        """Return the session that was used last in a folder. Raises LiveSessionNotFound."""
        with self._home.lend_store_to_read() as store:
            session = live_sessions.find_latest(store, str(folder.resolve()))
        if session is None:
            raise LiveSessionNotFound(f"no live session has worked in {folder}: begin one without --continue")
        return session

    def forget(self, identity: str) -> None:
        """End a session's process and remove all that is recorded of it; what its CLI has written itself stays.

        Raises SessionBusy where the process does not end.
        """
        self._home.refuse_if_read_only("remove a live session")
        session_id = self.find(identity).session_id
        for order in (Close(), Cancel()):
            with (
                suppress(HostUnreachable, HostGone),
                hosts.connect(self._home.paths, session_id, self._client) as client,
            ):
                client.order(order)
            if hosts.wait_for_end(self._home.paths, session_id):
                break
        else:
            raise SessionBusy(f"the process of session {session_id} does not end, so its record is kept")
        from oulipoly_engine.store.live import removal  # noqa: PLC0415 - hardly any session is removed

        with self._home.lend_store() as store:
            removal.remove(store, session_id)
        hosts.drop_log(self._home.paths, session_id)
        (self._home.paths.unkept_sessions / session_id).unlink(missing_ok=True)

    def note_unkept(self, session_id: str) -> None:
        """Note of a session, before it is begun, that this process forgets it; after a kill a later start does."""
        make_folder(self._home.paths.unkept_sessions)
        keep_first(self._home.paths.unkept_sessions / session_id, own_mark().encode())

    def forget_unkept(self) -> tuple[str, ...]:
        """Forget the sessions that a killed process was to forget, and return a sentence for each."""
        sentences = []
        notes = self._home.paths.unkept_sessions
        if self._home.read_only:
            return ()
        for note in sorted(notes.glob("*")):
            try:
                if not has_ended_mark(note.read_text(encoding="ascii")):
                    continue
                self.forget(note.name)
                sentences.append(f"session {note.name} was removed, for its chat with --no-session was killed")
            except (LiveSessionNotFound, ValueError):  # it was not begun, or another process has removed it
                note.unlink(missing_ok=True)
            except (RunnerError, OSError) as error:
                sentences.append(f"session {note.name} of a killed chat with --no-session cannot be removed: {error}")
        return tuple(sentences)

    def connect(self, identity: str, *, starts: bool = False) -> LiveClient:
        """Return a connection to a session's host. starts: one is started where none lives.

        Raises HostUnreachable where none lives, or RunnerError when none can be started.
        """
        session = self.find(identity)
        return self._connect(session) if starts else hosts.connect(self._home.paths, session.session_id, self._client)

    def _connect(self, session: LiveSession) -> LiveClient:
        """Return a connection to a session's host, which is started where none lives. Raises RunnerError."""
        self.require_right(session.session_id)
        deadline = time.monotonic() + _START_S
        while True:
            try:
                client = hosts.connect(self._home.paths, session.session_id, self._client)
            except HostUnreachable:
                self._home.refuse_if_read_only("start a live session")
            else:
                if not self._is_outdated(session, client):
                    return client
                _wait_for_end(client)
            with self._home.lend_store() as store:
                host = self._start(store, self.find(session.session_id))
            try:
                return hosts.reach(self._home.paths, session.session_id, self._client)
            except HostUnreachable as error:
                # The host of another process may just have ended; one of ours has said why.
                if host is not None or time.monotonic() > deadline:
                    raise RequestRefused(self._why_ended(session.session_id)) from error

    def _is_outdated(self, session: LiveSession, client: LiveClient) -> bool:
        """Have a host end whose runtime is configured otherwise now, unless a turn runs. Returns whether it ends."""
        host, runtime = hosts.describe(self._home.paths, session.session_id), self.catalogue().find(session.runtime_id)
        if host is None or runtime is None or not runtime.is_enabled or why_elsewhere(session, runtime):
            return False
        if host.options in ("", options_of(session, runtime, self._home.extensions.order)) or self._home.read_only:
            return False
        try:
            client.order(Close(if_idle=True))
        except OrderRefused:
            return False
        except HostGone:
            return True
        return True

    def _why_ended(self, session_id: str) -> str:
        with self._home.lend_store_to_read() as store:
            end = last_end(store, session_id)
        why = end.message if end is not None else "nobody knows why"
        return f"the session's process has ended: {why}"

    def _give(self, session: LiveSession, order: Order) -> tuple[LiveClient, dict[str, Any]]:
        """Have a session's host, started where none lives, do something; the caller closes the connection."""
        while True:
            client = self._connect(session)
            try:
                return client, self._order_once_open(client, session, order)
            except OrderRefused as error:
                if error.slug != SESSION_ENDS:
                    client.close()
                    raise
                _wait_for_end(client)  # the next host takes it
            except BaseException:
                client.close()
                raise

    def _order_once_open(self, client: LiveClient, session: LiveSession, order: Order) -> dict[str, Any]:
        """Give an order, and again after each event while its host says that the session is being opened."""
        is_following = False
        while True:
            try:
                return client.order(order)
            except OrderRefused as error:
                if error.slug != SessionOpening.slug:
                    raise
            if is_following:
                client.wait(_LOOK_S)
            else:  # it may have been opened before its events come to us: the order is given at once again
                client.follow(self._last_number(session.session_id), deltas=False)
                is_following = True

    def _last_number(self, session_id: str) -> int:
        with self._home.lend_store_to_read() as store:
            return live_events.last_number(store, session_id)

    def _order_started(self, session: LiveSession, order: Order) -> dict[str, Any]:
        try:
            client, told = self._give(session, order)
        except HostGone as error:  # its CLI could not be started, or has ended
            hosts.wait_for_end(self._home.paths, session.session_id)
            refuse_fenced(self.find(session.session_id))
            raise RequestRefused(self._why_ended(session.session_id)) from error
        client.close()
        return told

    def _hear(
        self,
        session: LiveSession,
        after: int,
        verb: str,
        what: str,
        is_taken: Callable[[AnyEvent], bool],
        patience_s: float = _ANSWER_S,
    ) -> bool:
        """Return whether the CLI has taken an order by now; some say nothing. Raises RequestRefused where it refuses.

        after: the number of the last event before the order. what: was ordered, for people.
        """
        deadline = time.monotonic() + patience_s
        with (
            suppress(HostUnreachable, HostGone),
            hosts.connect(self._home.paths, session.session_id, self._client) as (client),
        ):
            client.follow(after, deltas=False)
            while (left := deadline - time.monotonic()) > 0:
                for event in (numbered.event for numbered in client.wait(min(left, 1.0))):
                    if isinstance(event, OrderFailed) and event.order == verb:
                        raise RequestRefused(f"{what} was refused by the CLI: {event.message}")
                    if is_taken(event):
                        return True
        return False

    def order(self, identity: str, order: Order, *, starts: bool) -> dict[str, Any]:
        """Have a session's host do something. starts: one is started where none lives. Raises RunnerError.

        What begins a turn of its own has begun one, where the CLI says so in time.
        """
        verb = verb_of(order)
        self._home.refuse_if_read_only(f"{verb} a live session".replace("_", " "))
        try:
            if starts:
                session = self.find(identity)
                after = self._last_number(session.session_id)
                answer = self._order_started(session, order)
                if isinstance(order, Compact | Review):
                    self._hear(session, after, verb, verb, lambda event: isinstance(event, TurnStarted | TurnEnded))
                return answer
            self.require_right(self.find(identity).session_id)
            with self.connect(identity) as client:
                return client.order(order)
        except HostUnreachable as error:
            raise NoTurnRuns(Need.PROCESS) from error


def refuse_fenced(session: LiveSession) -> None:
    """Refuse what cannot be done in a session that is lost."""
    if session.status == "fenced":
        raise SessionLost(
            f"this session cannot go on: {session.status_reason.rstrip('.')}; "
            f"`agents session fork {session.session_id}` begins another one with what was said"
        )


def _wait_for_end(client: LiveClient) -> None:
    """Wait until a host that is ending has ended."""
    with client, suppress(HostGone):
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            client.wait(_LOOK_S)
