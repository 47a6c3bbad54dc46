"""A live session as its events tell it: what was said, and how it stands now. Pure.

Whatever comes is taken: an event that belongs to nothing known begins something, and none ends anything but itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import Item, Numbered, Prompt, Usage
from oulipoly_engine.core.live.permissions import describe_policy
from oulipoly_engine.core.live.requests import describe_end
from oulipoly_engine.core.live.retry import describe_retry
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record, replace
from oulipoly_tui.view.live.blocks import Block
from oulipoly_tui.view.live.turn_notes import turn_end_note
from oulipoly_tui.view.transcript.spans import Tone

_LEVELS: Mapping[str, Tone] = {"info": "dim", "warning": "warn", "error": "bad"}


class OpenRequest(Record):
    """A request that waits for an answer."""

    request_id: str
    kind: str
    prompt: Prompt


class RunningTurn(Record):
    """The turn that runs."""

    turn_id: str
    kind: str = ""
    at: str = ""  # RFC 3339; empty: it began before what we know
    was_queued: bool = False  # its message has waited for the end of another turn
    retry: str = ""  # how it will be tried again; empty: it does not wait for that


class Queued(Record):
    """A message that waits."""

    message_id: str
    text: str
    note: str = ""


class Conversation:
    """One session, as far as its events were given."""

    def __init__(self, reader: str = "") -> None:
        """reader: the name of the client that shows it."""
        self.reader = reader
        self.blocks: list[Block] = []
        self.first = 0  # number of the oldest event; 0: none was given
        self.last = 0  # number of the latest one
        self.turn: RunningTurn | None = None
        self.requests: dict[str, OpenRequest] = {}
        self.queue: tuple[Queued, ...] = ()
        self.usage = Usage()
        self.cost_usd: float | None = None  # of the turns that were given
        self.windows: tuple[tuple[str, float, int | None], ...] = ()
        self.diff = ""  # of the last turn that told one
        self.model = self.kind = self.profile = self.policy = self.title = self.isolation = ""
        self.commands: tuple[tuple[str, str], ...] = ()
        self.models: tuple[ev.ModelInfo, ...] = ()
        self.is_open = False
        self.clients = ev.ClientsChanged()  # who has control, and who is attached
        self.left_turn = ""  # id of a turn that was under way when its process was lost
        self.ended = ""  # why its process is gone; empty: it is not, as far as we know
        self._places: dict[str, int] = {}
        self._waited: set[str] = set()  # messages that were queued: the turns that they become have their ids
        self._notes = 0
        self._plan = ""  # id of the latest one
        self._touched: set[int] = set()  # places of blocks that changed through other events
        self._waiting: set[str] = set()  # blocks, by id, that wait for an answer of a person
        self._speaker = ""  # of the latest message: its kind

    def apply(self, events: Iterable[Numbered]) -> set[int]:
        """Take events in their order and return the places of the blocks that are not as they were."""
        changed: set[int] = set()
        for numbered in events:
            self.first = self.first or numbered.seq
            self.last = max(self.last, numbered.seq)
            place = self._apply(numbered.event, numbered.at)
            if place is not None:
                changed.add(place)
        self._mark_waiting()
        changed |= self._touched
        self._touched.clear()
        return changed

    def prepend(self, events: Iterable[Numbered]) -> int:
        """Take events from before the first, and return how many blocks came to stand before all others."""
        older = Conversation(self.reader)
        older.apply(events)
        blocks = [one for one in older.blocks if one.item is None or one.id not in self._places]
        for block in blocks:
            if block.is_running and block.item is not None:  # its end is later, or was lost
                block.item = replace(block.item, status="interrupted")
        self.first = older.first or self.first
        self._notes += older._notes
        for number, block in enumerate(one for one in blocks if one.item is None):
            block.id = f"note/before/{self._notes}/{number}"
        self.blocks[:0] = blocks
        self._places = {block.id: place for place, block in enumerate(self.blocks)}
        self._mark_waiting()
        return len(blocks)

    def take_status(self, status: Any) -> None:  # noqa: ANN401 - facade's LiveStatus, which is not loaded for a view
        """Take how the session stood before the events: what none of them tells."""
        self.model = status.model or self.model
        self.policy = status.policy or self.policy
        self.kind = status.session.runtime_kind
        self.profile = status.session.opening.profile or self.profile
        self.isolation = status.session.opening.isolation
        self.title = status.session.title or self.title
        self._take_queue(tuple(Queued(one.message_id, one.text, one.note) for one in status.queue))
        if status.busy and status.turn_id and (self.turn is None or self.turn.turn_id != status.turn_id):
            self.turn = RunningTurn(status.turn_id)
        if not status.busy:
            self.turn = None
        usage = {name: value for name, value in dict(status.usage).items() if value is not None}
        self.usage = replace(self.usage, **usage)
        self.left_turn = (status.turn_id or "") if status.status == "recoverable" else ""
        self.is_open = status.status in ("running", "waiting_input")
        self.ended = "" if self.is_open or status.status == "starting" else self.ended or status.status

    def take_requests(self, requests: Iterable[OpenRequest]) -> None:
        """Take what is asked now; of what was asked before the first event none of them tells."""
        self.requests = {one.request_id: one for one in requests}
        self._mark_waiting()

    def tell_source(self, session_id: str) -> None:
        """Begin with where the past of a fork stands."""
        self._note(f"goes on from session {session_id[:8]}: what was said before stands there", "dim", "")

    def take_clients(self, answer: Mapping[str, Any]) -> None:
        """Take who is there, as the host has answered it."""
        self.clients = ev.ClientsChanged(answer["controller"], answer["since"], tuple(answer["attached"]))

    def lose_process(self) -> set[int]:
        """Take note that no process of it lives, whatever its last events said; return the places that changed."""
        changed = set()
        if self.turn is not None:
            self.left_turn = self.turn.turn_id
            changed.add(self._note("its process was lost while this turn ran", "warn", "", self.left_turn))
        self.is_open, self.turn, self.clients = False, None, ev.ClientsChanged()
        self.requests.clear()
        return changed | self.apply(())

    @property
    def waits_to_retry(self) -> bool:
        """Return whether the turn waits to be tried again."""
        return self.turn is not None and bool(self.turn.retry)

    @property
    def may_do(self) -> str:
        """Return what the session may do unasked, and what holds it; before it has opened, what it was begun with."""
        policy = describe_policy(self.profile, self.policy, self.kind if self.is_open else "")
        return visible_line(", ".join(filter(None, (policy, self.isolation))))

    def turn_at(self, place: int) -> str:
        """Return the turn that a block belongs to, or the last one before it; empty: none is known."""
        return next((one.turn_id for one in reversed(self.blocks[: place + 1]) if one.turn_id), "")

    def messages(self) -> list[str]:
        """Return what people have sent, oldest first."""
        items = [(block.text, block.item) for block in self.blocks if block.item is not None]
        sent = [(text, item) for text, item in items if item.kind == "user_message" and item.native_kind != ev.RESUMES]
        return [text for text, item in sent if item.status != "declined"]  # that one waits, and is sent once more

    # ---- events

    def _apply(self, event: ev.AnyEvent, at: str) -> int | None:
        match event:
            case ev.ItemDelta():
                return self._take_delta(event, at)
            case ev.ItemStarted() | ev.ItemEnded():
                return self._put(event.item, event.turn_id, at)
            case ev.TurnStarted():
                began = at
                if self.turn is not None and self.turn.turn_id == event.turn_id:  # it is tried again
                    began = self.turn.at or at
                self.turn = RunningTurn(event.turn_id, event.kind, began, event.turn_id in self._waited)
            case ev.TurnEnded():
                return self._end_turn(event, at)
            case ev.TurnRetrying():
                return self._take_retry(event, at)
            case ev.RequestOpened():
                self.requests[event.request_id] = OpenRequest(event.request_id, event.kind, event.prompt)
            case ev.RequestResolved():
                return self._resolve(event, at)
            case ev.UsageUpdated():
                self._take_usage(event.usage)
            case ev.QuotaSeen():
                self.windows = event.windows
            case ev.DiffUpdated():
                self.diff = event.diff
            case ev.QueueChanged():
                self._take_queue(tuple(Queued(*one) for one in event.messages))
            case ev.ClientsChanged():
                self.clients = event
            case ev.ControlChanged():
                return self._note(ev.describe_control(event, self.reader), "dim", at)
            case ev.Notice():
                return self._note(event.text, _LEVELS.get(event.level, "warn"), at)
            case ev.OrderFailed():
                return self._note(f"{event.order} was refused: {event.message}", "warn", at)
            case _:
                return self._apply_to_session(event, at)
        return None

    def _apply_to_session(self, event: ev.AnyEvent, at: str) -> int | None:
        match event:
            case ev.SessionOpened():
                self.is_open, self.ended, self.left_turn = True, "", ""
                self.model, self.policy = event.model or self.model, event.policy or self.policy
                self.commands, self.models = event.commands or self.commands, event.models or self.models
            case ev.SettingsChanged():
                self.model, self.policy = event.model or self.model, event.policy or self.policy
            case ev.NameChanged():
                self.title = event.name
            case ev.CommandsChanged():
                self.commands = event.commands
            case ev.SessionFailed():
                self.is_open, self.turn, self.ended = False, None, event.message or event.reason
                return self._note(f"the session cannot be opened: {self.ended}", "bad", at)
            case ev.SessionClosed():
                was_running, self.turn = self.turn is not None, None
                self.is_open, self.ended = False, event.message or event.reason
                self.left_turn = event.left_turn or self.left_turn
                self.requests.clear()
                is_wanted = event.reason in ("closed", "idle") and not was_running
                return self._note(f"its process has ended: {self.ended}", "dim" if is_wanted else "warn", at)
        return None

    def _take_delta(self, event: ev.ItemDelta, at: str) -> int:
        place = self._places.get(event.item_id)
        if place is None:
            place = self._put(Item(event.item_id, event.kind), event.turn_id, at)
        block = self.blocks[place]
        if block.item is not None and not block.is_running:
            return place  # late: the item is whole
        block.add_text(event.text)
        return place

    def _put(self, item: Item, turn_id: str, at: str) -> int:
        place = self._places.get(item.id)
        if place is not None:
            self.blocks[place].take_item(item)
            self._take_plan(self.blocks[place], item)
            return place
        block = Block(item.id, at, turn_id)
        block.take_item(item)
        self._take_plan(block, item)
        if item.kind in ("agent_message", "user_message"):
            block.has_heading = item.kind != self._speaker  # what tools did in between belongs to the agent
            self._speaker = item.kind
        return self._add(block)

    def _take_plan(self, block: Block, item: Item) -> None:
        """Take note of a plan that is told: it takes the place of the turn's last one."""
        if item.kind != "plan" or not item.steps or block.is_outdated or block.id == self._plan:
            return
        place = self._places.get(self._plan)
        if place is not None and self.blocks[place].turn_id == block.turn_id:
            self.blocks[place].is_outdated = True
            self._touched.add(place)
        self._plan = block.id

    def _mark_waiting(self) -> None:
        """Mark the blocks that an open request is about, and no others."""
        waiting = {one.prompt.item_id for one in self.requests.values()} & self._places.keys()
        for identity in waiting ^ self._waiting:
            place = self._places[identity]
            self.blocks[place].waits_for_answer = identity in waiting
            self._touched.add(place)
        self._waiting = waiting

    def _note(self, text: str, tone: Tone, at: str, turn_id: str = "") -> int:
        self._notes += 1
        return self._add(Block(f"note/{self._notes}", at, turn_id, None, [text], tone=tone))

    def _add(self, block: Block) -> int:
        self._places[block.id] = len(self.blocks)
        self.blocks.append(block)
        return len(self.blocks) - 1

    def _take_retry(self, event: ev.TurnRetrying, at: str) -> int:
        text = describe_retry(event)
        if event.attempts and self.turn is not None:
            self.turn = replace(self.turn, retry=text)
            text = f"{text} · {event.message}"
        return self._note(text, "warn", at, event.turn_id)

    def _end_turn(self, event: ev.TurnEnded, at: str) -> int:
        began = self.turn.at if self.turn is not None and self.turn.turn_id == event.turn_id else ""
        self.turn = None
        if event.usage is not None:
            self._take_usage(event.usage)
            if event.usage.cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + event.usage.cost_usd
        text, tone = turn_end_note(event, seconds_between(began, at))
        return self._note(text, tone, at, event.turn_id)

    def _take_queue(self, queue: tuple[Queued, ...]) -> None:
        self.queue = queue
        self._waited |= {one.message_id for one in queue}

    def _take_usage(self, usage: Usage) -> None:
        names = ("input", "cached", "output", "context", "window")
        known = {name: value for name in names if (value := getattr(usage, name)) is not None}
        self.usage = replace(self.usage, **known)

    def _resolve(self, event: ev.RequestResolved, at: str) -> int | None:
        found = self.requests.pop(event.request_id, None)
        title = "a request" if found is None else found.prompt.title
        is_answer = bool(event.decision) or event.status == "answered"
        by = "" if not event.by else f" by {event.by}" if is_answer else f": {event.by}"
        ended = describe_end(event.status, event.decision)
        return self._note(f"? {title} · {ended}{by}", "dim", at, event.turn_id)


def seconds_between(begin: str, end: str) -> float | None:
    """Return how long it is from one instant to another; None where one is not known."""
    try:
        return max(0.0, (from_text(end) - from_text(begin)).total_seconds())
    except ValueError:
        return None


def elapsed_s(turn: RunningTurn, now: datetime) -> float | None:
    """Return how long a turn has run; None where its beginning is not known."""
    try:
        return max(0.0, (now - from_text(turn.at)).total_seconds())
    except ValueError:
        return None
