"""Live sessions and what belongs to them, as values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from oulipoly_engine.core.boxes.box import Level
from oulipoly_engine.core.live.events import Prompt, RequestKind
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.records import Record

_TITLE_LIMIT = 80  # characters


class Branch(Record):
    """Where a person went back in a session, so that its CLI goes on in a session of its own there."""

    native_id: str  # that the CLI had until then
    entry_id: str  # behind which it goes on
    seq: int  # of the last event before
    at: str  # RFC 3339


class PastEntry(Record):
    """An entry of ours on the way to where a fork leaves its origin."""

    entry_id: str
    kind: str  # of `core.transcripts.turn_script.OWN_KINDS`
    at: str  # RFC 3339
    parent_id: str | None  # what it follows on, of ours none but a summary; None: what was said before it
    body: str | None


class Past(Record):
    """What a fork has of its origin, and its CLI does not know."""

    entry_id: str  # behind which it leaves
    turn_id: str = ""  # ours, that ends there: a transcript has other ids for its entries than what was heard
    entries: tuple[PastEntry, ...] = ()
    labels: Mapping[str, str] = {}  # by the entries on the way there


class SessionOptions(Record):
    """What a session was begun with, and what its next process needs to know: kept as JSON in the state file.

    A field at its default is not kept. Earlier and later releases keep fewer and more.
    """

    model: str = ""  # of the CLI; empty: as its runtime says
    effort: str = ""
    title: str = ""  # it is called so again when its name is taken away; empty: by its first words
    profile: str = ""  # what it may do without asking: `core.live.permissions.read_profile` reads it
    args: tuple[str, ...] = ()  # the user's own words for the CLI; none: those of its runtime
    own_args: tuple[str, ...] = ()  # beside them: ours, which may say what is not the user's to say
    never_asks: bool = False  # codex: what its sandbox does not allow just fails
    log: bool = False  # what the CLI writes is kept, and it has a folder for artifacts
    notice_s: float = 0.0  # of a running turn of which nothing is heard, until that is told; 0: as hosts have it
    turn_silence_s: float = 0.0  # of a running turn that asks nothing and runs no command, to its end; 0: any
    block_while_running: bool = True  # a message is refused while a turn runs, else it waits
    parameters: Mapping[str, Any] = {}  # as they were given over REST
    capabilities: tuple[str, ...] | None = None  # that its CLI has told of; None: it has told nothing yet
    fork_of: str = ""  # the CLI's own id of the session to take the past from
    fork_at: str = ""  # the CLI's own id of the last turn to take over; empty: all
    fork_turn: str = ""  # the same turn, by our id
    preface: str = ""  # goes before the next message: what was said, for a CLI that does not know it
    past: Past | None = None  # of a fork
    branches: tuple[Branch, ...] = ()
    compaction: str = "idle"  # of `core.sessions.compaction.STATES`
    is_recorded: bool = False  # its CLI had it before it was a live session
    isolation: str = ""  # of `core.boxes.box.Level`, in which its CLI stands; empty: none
    addresses: tuple[str, ...] = ()  # that a sealed CLI reaches besides its model

    @property
    def level(self) -> str:
        """Return its isolation as it is shown."""
        return self.isolation or Level.NONE.value


class LiveSession(Record):
    """A session and the runtime that has it. It never moves to another runtime or workspace."""

    session_id: str  # ours
    workspace: str  # the folder that the CLI works in
    runtime_id: str
    runtime_kind: str
    model_name: str  # of the pool; `unknown` where an account was named alone
    created_at: datetime
    updated_at: datetime
    account: str | None = None
    native_id: str | None = None  # the CLI's own id; None: not known yet
    opening: SessionOptions = SessionOptions()
    title: str = ""
    status: str = "active"  # fenced: its thread is lost, and it can be forked only; closed: a person has closed it
    status_reason: str = ""
    forked_from: str | None = None
    generation: int = 0
    lifecycle: str = "persistent"  # oneshot: its process ends with its first turn, and takes no other
    ended: str = ""  # closed, failed, canceled, timed_out; empty: it has not ended, or went on since
    exit_code: int | None = None  # of the last process of a session that has ended
    closed_at: datetime | None = None

    @property
    def is_branching(self) -> bool:
        """Tell whether a person went back, and its CLI has not yet begun a session of its own there."""
        return any(branch.native_id == self.native_id for branch in self.opening.branches)


class Turn(Record):
    """One input to its end."""

    turn_id: str
    session_id: str
    kind: str  # user, review, compact, recovery
    status: str  # of `states.TURN`
    input: str
    policy: str
    created_at: datetime
    native_turn_id: str | None = None
    message: str = ""
    code: str = ""
    reply: str = ""
    usage: Mapping[str, Any] | None = None
    invocation_uuid: str | None = None
    ended_at: datetime | None = None


Origin = Literal["live", "setup", "worktree", "device", "extension"]  # who asks; later releases know more


class Asker(Record):
    """Who asks besides live sessions, and what a yes to them is."""

    name: str
    life: timedelta  # of a request that nobody answers
    command: str = ""  # of the table, that a yes is: a device needs what that needs; empty: an answer and no more
    hears_devices: bool = True  # False: whoever is at the computer alone says yes
    hears_reasons: bool = False  # of a no


ASKERS: Mapping[str, Asker] = {  # by origins; what a yes allows is noted in `facade/live/requests.py`
    "setup": Asker("the set-up", timedelta(days=1), hears_reasons=True),
    "worktree": Asker("a repository", timedelta(days=7), "worktree allow"),
    "device": Asker("a device", timedelta(minutes=15), "device confirm", hears_devices=False),
    "extension": Asker("an extension", timedelta(days=7), "ext enable", hears_devices=False),
}


class LiveRequest(Record):
    """What is asked of a person, by a live session or by somebody else."""

    request_id: str
    session_id: str  # empty: no session asks
    turn_id: str
    native_id: str
    kind: RequestKind
    status: str  # of `states.REQUEST`
    prompt: Prompt
    created_at: datetime
    decision: str = ""
    answered_by: str = ""
    resolved_at: datetime | None = None
    origin: Origin = "live"
    asker: str = ""  # who asks where no session does: a process, a repository's git folder, or a device
    answers: Mapping[str, tuple[str, ...]] = {}  # for the asker to read, where no host takes them

    @property
    def asker_name(self) -> str:
        """Return who asks in words, where no session does; empty: a session does."""
        asker = ASKERS.get(self.origin)
        return "" if asker is None else asker.name

    @property
    def hears_reasons(self) -> bool:
        """Tell whether an agent asks, who goes on with why something was denied."""
        asker = ASKERS.get(self.origin)
        return asker is None or asker.hears_reasons


class QueuedMessage(Record):
    """A message that waits for the running turn to end."""

    message_id: str
    session_id: str
    text: str
    state: str  # of `states.MESSAGE`
    created_at: datetime
    note: str = ""  # why it waits: a steer that the runtime could not take
    turn_id: str | None = None


def first_line(text: str) -> str:
    """Return what a session is called by its first message."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    return line if len(line) <= _TITLE_LIMIT else f"{line[: _TITLE_LIMIT - 1]}…"


def why_elsewhere(session: LiveSession, runtime: Runtime) -> str:
    """Say why a session would go on elsewhere in the runtime of its id; empty: it would not (contract, B11)."""
    if runtime.kind != session.runtime_kind:
        return f"the session is one of {session.runtime_kind}, and its runtime {runtime.id!r} speaks {runtime.kind} now"
    if runtime.account != (session.account or ""):
        now = f"has the account {runtime.account!r} now" if runtime.account else "has no account now"
        began = f"began with the account {session.account!r}" if session.account else "began without an account"
        return f"the session {began}, and its runtime {runtime.id!r} {now}"
    return ""
