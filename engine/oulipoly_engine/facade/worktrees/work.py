"""Sessions that work by themselves, most of them on a branch and in a worktree of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from oulipoly_engine.core.agents.containers import CONTAINER
from oulipoly_engine.core.boxes.allow_list import parse_allowed
from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.events import ItemEnded
from oulipoly_engine.core.live.orders import Cancel, TellMessage
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, acts_unasked
from oulipoly_engine.core.live.sessions import LiveSession, SessionOptions, Turn
from oulipoly_engine.core.worktrees.work import (
    LIFECYCLES,
    TURN_SILENCE_S,
    Message,
    Repository,
    allowed_parameters,
    assistant_id,
    log_hint,
    read_parameters,
    user_id,
)
from oulipoly_engine.errors import AccountUnusable, RequestRefused, RunnerError, UsageInvalid, translate_system_errors
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.facade.live.beginning import find_login_in_reach
from oulipoly_engine.facade.live.sessions import LiveSessions, NewSession
from oulipoly_engine.facade.live.standing import LiveStatus, count_places, describe
from oulipoly_engine.paths import expand_user
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.live.launch import session_artifacts, session_log
from oulipoly_engine.service.live.session_log import MOST_LINES, read_tail
from oulipoly_engine.store.live import live_events, live_queue, live_requests, live_sessions

if TYPE_CHECKING:
    from oulipoly_engine.core.boxes.levels import Availability
    from oulipoly_engine.core.runs.markers import ParentRef
    from oulipoly_engine.core.worktrees.trace import RunTrace
    from oulipoly_engine.core.worktrees.worktrees import Worktree
    from oulipoly_engine.facade.worktrees.worktrees import Worktrees
    from oulipoly_engine.store.base.db import Store

_LOCK_S = 10.0
_MOST_SESSIONS = 10_000
_TRACE_EVENTS = 5000
_OPEN_TURN_EVENTS = 400  # of a running turn, to put its answer so far together


class NewWork(Record):
    """A session to begin that works by itself."""

    repository: Path  # or any folder, where no worktree is wanted
    model: str | None = None  # a pool; else `runtime`
    account: str | None = None
    runtime: str | None = None
    branch: str = ""  # that its own branch begins at, or that it works on; empty: HEAD
    reuses: bool = False  # work on `branch` itself
    lifecycle: str = "persistent"
    prompt: str | None = None
    profile: str = ""
    title: str = ""
    uses_worktree: bool = True
    runs_setup: bool = True  # the commands that the repository's own settings name
    parameters: Mapping[str, Any] = {}
    turn_silence_s: float = TURN_SILENCE_S  # 0: any
    isolation: str = ""  # of `core.boxes.box.Level`, in a worktree; empty: as `work_isolation` says
    addresses: tuple[str, ...] = ()  # that a sealed one reaches besides its model
    parent: ParentRef | None = None


class BegunWork(Record):
    """A session that was begun."""

    session: LiveSession
    why: str
    worktree: Worktree | None
    turn_id: str | None = None
    waits_for: str = ""  # why it has not been started yet
    login_in_reach: str = ""  # why its login is, though it stands in a box; empty: it is not, or stands in none


class SessionFiles(Record):
    """Where what belongs to a session lies."""

    log: str  # empty: it has none
    artifacts: str
    agent_log_hint: str  # where its CLI keeps its own log; empty: nobody knows


class Sent(Record):
    """A message that has begun a turn."""

    turn_id: str
    user_message_id: str
    assistant_message_id: str


class AgentEntry(Record):
    """What a session can be begun with: a pool, or one runtime (contract A4)."""

    agent_id: str
    name: str
    kind: str  # pool, or the runtime's
    command: str
    allowed_parameters: tuple[str, ...]
    environment: Mapping[str, str]  # of its configuration, secrets hidden
    log_hint: str


class ReviveFailed(RequestRefused, slug="revive-failed"):
    """The process of a session that was to go on could not be started."""


class WorkSessions:
    """The sessions of one user that work by themselves."""

    def __init__(self, home: Home, live: LiveSessions, worktrees: Callable[[], Worktrees]) -> None:
        self._home, self._live, self._worktrees = home, live, worktrees

    def acting_as(self, live: LiveSessions) -> WorkSessions:
        """Return the same in the name that live sessions are given."""
        return WorkSessions(self._home, live, self._worktrees)

    # Beginning -------------------------------------------------------------------------------------------------------
    def begin(self, wish: NewWork) -> BegunWork:
        """Begin a session: its worktree first, then its process. Raises RunnerError, and then nothing is left."""
        if wish.lifecycle not in LIFECYCLES:
            raise UsageInvalid(f"{wish.lifecycle!r} is not a lifecycle: {', '.join(LIFECYCLES)}")
        if wish.lifecycle == "oneshot" and not (wish.prompt or "").strip():
            raise UsageInvalid("a one-shot session needs its message: give it a prompt")
        self._home.refuse_if_read_only("begin a session")
        isolation = self.choose_isolation(wish)
        session_id, worktree = str(uuid.uuid4()), None
        parameters = read_parameters(self._kind_of(wish), wish.parameters, wish.profile)
        folder = wish.repository.absolute()
        if wish.uses_worktree:
            worktree = self._worktrees().create(
                session_id,
                folder,
                wish.branch,
                wish.reuses,
                runs_setup=wish.runs_setup,
                isolation=isolation,
            )
            folder = Path(worktree.path)
        elif wish.branch:
            _check_branch(folder, wish.branch)
        try:
            waits_for = self._count_places()
            begun = self._live.begin(
                NewSession(
                    folder=folder,
                    model=wish.model,
                    account=wish.account,
                    runtime=wish.runtime,
                    prompt=wish.prompt,
                    profile=wish.profile or parameters.profile or OF_NEW_SESSIONS,
                    cli_model=parameters.cli_model,
                    effort=parameters.effort,
                    args=parameters.args,
                    title=wish.title,
                    parent=wish.parent,
                    session_id=session_id,
                    lifecycle=wish.lifecycle,
                    options=SessionOptions(
                        log=True,
                        turn_silence_s=wish.turn_silence_s,
                        parameters=dict(wish.parameters),
                        never_asks=parameters.never_asks,
                        isolation=isolation,
                        addresses=wish.addresses,
                    ),
                    starts=not waits_for,
                )
            )
        except BaseException:
            if worktree is not None and not self._is_known(session_id):
                self._worktrees().remove(session_id, force=True)
            raise
        reason = self._find_login_in_reach(begun.session)
        return BegunWork(begun.session, begun.why, worktree, begun.turn_id, waits_for, reason)

    def choose_isolation(self, wish: NewWork) -> str:
        """Return the level of the box in which a wish's CLI is to stand; empty: none.

        Raises UsageInvalid, IsolationUnavailable where this machine cannot give it, and RequestRefused where an agent
        wishes for less than `work_isolation` says.
        """
        usual = self.usual_isolation if wish.uses_worktree else ""
        level = wish.isolation or usual
        if level == CONTAINER:
            raise UsageInvalid("a session in a worktree is none, guarded or sealed: containers are for agents")
        if level not in ("", *Level):
            raise UsageInvalid(f"there is no isolation {level!r}: {', '.join(Level)}")
        if wish.addresses and level != Level.SEALED:
            raise UsageInvalid("--address needs --isolation sealed: the network of other levels is this machine's")
        for text in wish.addresses:
            parse_allowed(text)
        if self.is_weaker(wish):
            require_person(f"begin a session at the isolation {level}, below {usual} of `work_isolation`")
        if level in ("", Level.NONE):
            return ""
        if not wish.uses_worktree:
            raise UsageInvalid("an isolation is for a session in a worktree: name its repository with --repo")
        from oulipoly_engine.service.agents.work_box import check_level  # noqa: PLC0415 - 40 ms, few are in boxes

        check_level(level)
        return level

    @property
    def usual_isolation(self) -> str:
        """Return the level of the box of sessions in worktrees of which nothing else is said."""
        return self._home.files.settings().work_isolation

    def levels(self) -> tuple[Availability, ...]:
        """Return the levels that there are, weakest first, each with why this machine cannot give it."""
        from oulipoly_engine.process.boxes.machine import available_levels  # noqa: PLC0415 - only a form asks

        return available_levels()

    def is_weaker(self, wish: NewWork) -> bool:
        """Return whether a wish asks for less isolation than `work_isolation` says."""
        levels = tuple(Level)
        usual = self.usual_isolation
        if not wish.uses_worktree or wish.isolation not in levels or usual not in levels:
            return False
        return levels.index(Level(wish.isolation)) < levels.index(Level(usual))

    def _find_login_in_reach(self, session: LiveSession) -> str:
        """Return why the login of a session's account is within reach of its box; empty: it is not."""
        level = session.opening.isolation
        if not level:
            return ""
        reason = find_login_in_reach(self._home, self._live.catalogue(), level, session.runtime_id)
        return reason and f"the login of {session.account or session.runtime_id} is within its reach: {reason}"

    def acts_unasked(self, wish: NewWork) -> bool:
        """Return whether a wish lets its session do what nobody is asked for. Raises RunnerError.

        That is an answer given in advance; so is work in a person's own folder, where nobody looks at a branch first.
        """
        kinds = self._kinds_of(wish)
        kind = next(iter(kinds)) if len(kinds) == 1 else ""
        parameters = read_parameters(kind, wish.parameters, wish.profile)
        profile = wish.profile or parameters.profile or OF_NEW_SESSIONS
        return not wish.uses_worktree or parameters.never_asks or acts_unasked(kinds, profile)

    def _kind_of(self, wish: NewWork) -> str:
        """Return the kind of CLI that a wish is for, as far as that is known before an account is chosen."""
        kinds = self._kinds_of(wish)
        return kinds.pop() if len(kinds) == 1 else ""

    def _kinds_of(self, wish: NewWork) -> set[str]:
        """Return the kinds of CLIs that a wish may go to."""
        catalogue = self._live.catalogue()
        if wish.runtime is not None:
            runtime = catalogue.find(wish.runtime) or catalogue.find_for_account(wish.runtime)
            if runtime is None:  # said before a worktree is made
                message = f"{wish.runtime!r} has no CLI that can be driven: `agents runtime list` lists those that have"
                raise AccountUnusable(message)
            return {runtime.kind}
        if wish.model is None:
            raise UsageInvalid("name a model, or a runtime")
        return {
            runtime.kind
            for member in self._home.files.model(wish.model).members
            if (runtime := catalogue.find_for_account(member.account)) is not None
        }

    def _is_known(self, session_id: str) -> bool:
        with self._home.lend_store_to_read() as store:
            return bool(live_sessions.find(store, session_id))

    def _count_places(self) -> str:
        with self._home.lend_store_to_read() as store:
            return count_places(self._home, store)

    def start_waiting(self) -> tuple[str, ...]:
        """Start the sessions that wait for a place and have one now, and return their ids; asked again and again."""
        if not self._home.files.settings().work_max_running:
            return ()
        started: list[str] = []
        with hold_lock(self._home.paths.locks / "work-start", _LOCK_S) as is_ours:
            if not is_ours:
                return ()
            for work in reversed(self.list(1000)):
                if work.rest_status != "queued" or not work.queue:
                    continue
                if self._count_places():
                    break
                try:
                    self._live.start(work.session.session_id)
                    started.append(work.session.session_id)
                except RunnerError as error:
                    self._note_failure(work.session.session_id, error.message)
        return tuple(started)

    def _note_failure(self, session_id: str, message: str) -> None:
        with self._home.lend_store() as store:
            now = self._home.now()
            live_sessions.update(store, session_id, now, ended="failed", status_reason=message, closed_at=now)

    # Looking ---------------------------------------------------------------------------------------------------------
    def list(self, limit: int = 100, *, all_live: bool = False) -> tuple[LiveStatus, ...]:
        """Return the sessions, the newest first. all_live: also those that work in a folder of a person's."""
        with self._home.lend_store_to_read() as store:
            sessions = live_sessions.list_sessions(store, _MOST_SESSIONS)
            listed = [session for session in sessions if all_live or session.opening.log]
            listed.sort(key=lambda session: (session.created_at, session.session_id), reverse=True)
            return describe(store, self._home, listed[:limit])

    def find(self, identity: str) -> LiveStatus:
        """Return one session by its id, or its beginning, as the records have it. Raises RequestRefused."""
        with self._home.lend_store_to_read() as store:
            return describe(store, self._home, [self._live.find(identity)])[0]

    def files_of(self, session: LiveSession) -> SessionFiles:
        """Return where what belongs to a session lies."""
        key = session.session_id
        log = str(session_log(self._home.paths, key)) if session.opening.log else ""
        hint = log_hint(session.runtime_kind, self._home_of(session), session.native_id or "")
        return SessionFiles(log, str(self._artifacts(key)), hint)

    def messages(
        self, identity: str, after: str | None = None, limit: int = 200, *, last: bool = False
    ) -> tuple[Message, ...]:
        """Return the messages of a session without their secrets, oldest first.

        after: the id of the last one known. last: of too many the last ones, else the first.
        """
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - few ask

        session = self._live.find(identity)
        with self._home.lend_store_to_read() as store:
            is_running = bool(live_sessions.open_turns(store, [session.session_id]))
        # First, for what becomes whole meanwhile is told by the next look, and not twice by this one.
        unfinished = self._unfinished_message(session.session_id) if is_running else ("", None)
        # One view: a message that becomes a turn meanwhile would be in neither.
        with self._home.lend_store_to_read() as store, store.read():
            turns = live_sessions.turns_of(store, session.session_id, 100_000)
            queue = live_queue.waiting(store, session.session_id)
            told: list[Message] = []
            for turn in turns:
                if turn.kind in ("user", "recovery"):
                    at = _milliseconds(turn.created_at)
                    reply = turn.reply if turn.ended_at else _reply_so_far(store, turn, *unfinished)
                    reply = reply or (f"[{turn.status}: {turn.message}]" if turn.message and turn.ended_at else "")
                    told.extend(_make_pair(told, turn.turn_id, turn.input, reply, at, turn.status))
        for one in queue:
            key, at = one.message_id, _milliseconds(one.created_at)
            told.extend(_make_pair(told, key, one.text, "", at, "queued"))
        if after is not None:
            place = next((number for number, one in enumerate(told) if one.message_id == after), None)
            if place is None:
                raise UsageInvalid(f"there is no message {after!r} in this session")
            told = told[place + 1 :]
        chosen = told[max(0, len(told) - limit) :] if last else told[:limit]
        return tuple(replace(one, content=redact(one.content)) for one in chosen)

    def _unfinished_message(self, session_id: str) -> tuple[str, int | None]:
        """Return what the running turn has written of a message that is not whole, and the last event before it."""
        with suppress(RunnerError):
            told = self._live.order(session_id, TellMessage(), starts=False)
            return str(told["text"]), int(told["number"])
        return "", None

    def trace(self, identity: str) -> tuple[RunTrace, ...]:
        """Return what the last turns of a session have done, oldest first."""
        from oulipoly_engine.core.worktrees.trace import build_trace  # noqa: PLC0415 - few ask

        return build_trace(self._live.events(identity, limit=_TRACE_EVENTS))

    def log_tail(self, identity: str, lines: int | None = 200) -> str:
        """Return the last lines of a session's log. lines: None: as many as one look gives."""
        session = self._live.find(identity)
        path = session_log(self._home.paths, session.session_id)
        count = MOST_LINES if lines is None else max(0, min(lines, MOST_LINES))
        try:
            return read_tail(path, count) + self._read_cli_log(session, count)
        except OSError as error:
            raise RequestRefused(f"the log {path} cannot be read: {error.strerror or error}") from error

    def _read_cli_log(self, session: LiveSession, count: int) -> str:
        """Return the last lines of what a session's CLI has logged itself, redacted and marked `cli`, where asked for.

        Their times are each CLI's own, so they stand behind the others. Raises OSError.
        """
        if not session.native_id or not self._home.files.settings().work_merge_cli_log:
            return ""
        from glob import escape, glob  # noqa: PLC0415 - few ask

        from oulipoly_engine.core.text.redact import redact_strictly  # noqa: PLC0415 - the same

        hint = log_hint(session.runtime_kind, escape(self._home_of(session)), escape(session.native_id))
        found = sorted(glob(str(expand_user(hint)), recursive=True)) if hint else []  # noqa: PTH207 - absolute
        lines = read_tail(Path(found[-1]), count).splitlines() if found else []
        return "".join(f"cli {redact_strictly(line)}\n" for line in lines)

    def _home_of(self, session: LiveSession) -> str:
        """Return the folder in which a session's CLI keeps what it keeps; empty: nobody knows of another than usual."""
        from oulipoly_engine.core.accounts.storage_root import storage_root  # noqa: PLC0415 - few ask

        account = self._home.files.accounts().get(session.account or "")
        root = None if account is None else storage_root(account, self._home.paths.home)
        return "" if root is None else str(root.parent)

    def artifacts(self, identity: str, most: int = 1000) -> tuple[tuple[str, int, datetime], ...]:
        """Return the files of a session's folder for artifacts: paths, bytes, times of their last change."""
        from oulipoly_engine.service.worktrees.artifacts import list_artifacts  # noqa: PLC0415 - few ask

        return list_artifacts(self._artifacts(self._live.find(identity).session_id), most)

    @translate_system_errors()
    def open_artifact(self, identity: str, name: str) -> BinaryIO:
        """Open one of them to read; the caller closes it. Raises FileMissing or PathRefused."""
        from oulipoly_engine.service.worktrees.artifacts import open_artifact  # noqa: PLC0415 - few ask

        return open_artifact(self._artifacts(self._live.find(identity).session_id), name)

    def _artifacts(self, session_id: str) -> Path:
        return session_artifacts(self._home.paths, session_id)

    def repository(self, folder: Path) -> Repository | None:
        """Return the repository that a folder lies in, and its branches; None: it lies in none."""
        from oulipoly_engine.service.worktrees.branches import find_repository  # noqa: PLC0415 - only a choice needs it

        return find_repository(folder)

    # Talking ---------------------------------------------------------------------------------------------------------
    def send(self, identity: str, text: str) -> Sent:
        """Begin a turn. Raises TurnInFlight while one runs, SessionIsOneshot, or ReviveFailed."""
        from oulipoly_engine.core.live.requests import TurnInFlight  # noqa: PLC0415 - only a message needs it

        if not text.strip():
            raise UsageInvalid("the message is empty")
        work = self.find(identity)
        self._live.require_right(work.session.session_id)
        if work.busy or (work.queue and work.pid is not None):
            raise TurnInFlight("a turn is in flight: wait for its end, steer it, or queue the message")
        try:
            # What a process that is gone has left waiting goes first; then this message waits behind it.
            turn_id = self._live.send(work.session.session_id, text, if_idle=not work.queue).turn_id
        except RunnerError as error:
            if error.slug in ("turn-in-flight", "session-is-oneshot", "account-exhausted") or work.pid is not None:
                raise
            raise ReviveFailed(f"the session could not go on: {error.message}") from error
        return Sent(turn_id, user_id(turn_id), assistant_id(turn_id))

    def cancel(self, identity: str) -> str:
        """End a session's turn and its process, by force if need be, and return its status then.

        Messages that wait are taken back.
        """
        work = self.find(identity)
        self._live.require_right(work.session.session_id)
        with self._home.lend_store() as store:
            for message in live_queue.waiting(store, work.session.session_id):
                live_queue.change(store, message.message_id, "revoke")
            if work.rest_status == "queued" and work.pid is None:
                now = self._home.now()
                live_sessions.update(store, work.session.session_id, now, ended="canceled", closed_at=now)
                return "canceled"
        if work.pid is None:
            return work.rest_status
        self._live.order(work.session.session_id, Cancel(), starts=False)
        return "closing"

    def set_block_while_running(self, identity: str, value: bool) -> None:
        """Note whether a page takes no message while a turn runs."""
        session = self._live.find(identity)
        with self._home.lend_store() as store:
            live_sessions.change_opening(store, session.session_id, self._home.now(), block_while_running=value)

    # What there is ---------------------------------------------------------------------------------------------------
    def agents(self) -> tuple[AgentEntry, ...]:
        """Return what a session can be begun with: the pools that have a CLI to drive, and the runtimes."""
        from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - few ask

        catalogue = self._live.catalogue()
        told = []
        for name, model in sorted(self._home.files.models().items()):
            runtimes = [one for member in model.members if (one := catalogue.find_for_account(member.account))]
            kinds = {one.kind for one in runtimes if one.is_enabled}
            if kinds:
                kind = kinds.pop() if len(kinds) == 1 else ""
                told.append(AgentEntry(name, name, "pool", "", allowed_parameters(kind), {}, log_hint(kind, "", "")))
        for one in catalogue.runtimes:
            if one.is_enabled:
                env = {key: redact(f"{key}={value}").partition("=")[2] for key, value in one.environment.items()}
                hint = log_hint(one.kind, one.home, "")
                told.append(
                    AgentEntry(one.id, one.name, one.kind, one.program, allowed_parameters(one.kind), env, hint)
                )
        return tuple(told)

    def health(self) -> dict[str, Any]:
        """Return counts: sessions by their word, turns that run, requests that wait, and how long turns took."""
        works = self.list(_MOST_SESSIONS, all_live=True)
        counts: dict[str, int] = {}
        for one in works:
            counts[one.rest_status] = counts.get(one.rest_status, 0) + 1
        with self._home.lend_store_to_read() as store:
            durations = live_sessions.durations(store, 200)
            requests = len(live_requests.pending(store))
        ordered = sorted(durations)
        return {
            "sessions": counts,
            "busy": sum(one.busy for one in works),
            "pending_requests": requests,
            "turns": len(durations),
            "turn_seconds_median": round(ordered[len(ordered) // 2], 3) if ordered else None,
            "turn_seconds_longest": round(ordered[-1], 3) if ordered else None,
        }


def _make_pair(
    before: Sequence[Message], turn_id: str, text: str, reply: str, at: int, status: str
) -> tuple[Message, Message]:
    """Return what a turn was given and its answer, which follow on the messages before."""
    user_status = status if status == "queued" else ""
    parent_id = before[-1].message_id if before else None
    user = Message(user_id(turn_id), turn_id, "user", text, at, user_status, parent_id, live_turn_id=turn_id)
    answer = Message(assistant_id(turn_id), turn_id, "assistant", reply, at, status, live_turn_id=turn_id)
    return user, replace(answer, parent_id=user.message_id)


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _reply_so_far(store: Store, turn: Turn, unfinished: str, last_number: int | None) -> str:
    """Return what a turn that runs has said: its whole messages, and behind the last event the one that it writes."""
    before = None if last_number is None else last_number + 1
    last = live_events.before(store, turn.session_id, before, _OPEN_TURN_EVENTS)
    items = [one.event.item for one in last if isinstance(one.event, ItemEnded) and one.event.turn_id == turn.turn_id]
    whole = [item.text for item in items if item.kind == "agent_message"]
    return "\n".join([*whole, *([unfinished] if unfinished else [])])


def _check_branch(folder: Path, branch: str) -> None:
    """Raise where a folder that is worked in as it is has another branch than the one asked for."""
    from oulipoly_engine.service.worktrees.base.git import Git  # noqa: PLC0415 - few ask

    current = Git(folder).text("symbolic-ref", "--quiet", "--short", "HEAD")
    if current != branch:
        raise UsageInvalid(
            f"{folder} is on the branch {current!r}, not {branch!r}: leave the branch out, or use a worktree"
        )


__all__ = ["AgentEntry", "BegunWork", "NewWork", "ReviveFailed", "Sent", "SessionFiles", "Turn", "WorkSessions"]
