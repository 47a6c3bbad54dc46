"""The turn that runs: an agent's updates as items, what it has used, and the turn's end. Pure.

Version 1 ends a turn by the reply to its prompt; the end is a function of its own here, for version 2 tells it apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oulipoly_engine.core.live.events import (
    AnyEvent,
    Item,
    ItemKind,
    ItemStatus,
    Raw,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageUpdated,
)
from oulipoly_engine.drivers.acp import tool_calls
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, number, text_of
from oulipoly_engine.drivers.turn_items import TurnItems
from oulipoly_engine.records import Record, replace

_LEFT_OPEN: Mapping[TurnEnd, ItemStatus] = {
    "completed": "interrupted",
    "failed": "failed",
    "interrupted": "interrupted",
}
_STEP_STATES = frozenset({"pending", "in_progress", "completed"})


class Turn(Record, frozen=False):
    """The turn that runs."""

    turn_id: str
    is_cancelled: bool = False
    reply: str = ""
    plans: int = 0
    messages: int = 0


class Turns:
    """Turns one after the other, and what is open in the one that runs."""

    def __init__(self, say: Callable[[AnyEvent], None], cwd: str) -> None:
        self.current: Turn | None = None
        self.items = TurnItems(say)
        self.declined: set[str] = set()  # calls that a person has denied
        self._say, self._cwd = say, cwd
        self._sketches: dict[str, dict[str, Json]] = {}  # calls that do not say yet what they do
        self._used: set[str] = set()  # ids of items of this turn
        self._message = ""  # id of the message or thought that is being written
        self._usage = Usage()
        self._cost_usd: float | None = None  # of the session so far
        self._cost_before = 0.0

    def begin(self, turn_id: str, text: str, *, is_compaction: bool = False) -> Turn:
        """Begin a turn."""
        self.current = Turn(turn_id)
        self._say(TurnStarted())
        if is_compaction:
            self.items.start(Item(f"compaction/{turn_id}", "compaction", title="Shortens the past"))
        else:
            self.items.add(Item(f"user/{turn_id}", "user_message", "completed", text))
        return self.current

    def end(
        self, status: TurnEnd, *, message: str = "", code: str = "", result: Mapping[str, Json] | None = None
    ) -> None:
        """End the turn: whatever is open belongs to it."""
        turn = self.current
        if turn is None:
            return
        self._end_message("completed" if status == "completed" else _LEFT_OPEN[status])
        if status == "completed":
            self.items.end(f"compaction/{turn.turn_id}")
        for call in tuple(self._sketches.values()):
            self._start_call(call)
        self.items.end_all(_LEFT_OPEN[status])
        # Adapters tell a failure as a text of the agent as well: that is no answer.
        is_failure = status == "failed" and bool(turn.reply) and turn.reply.strip() in message
        usage = self._usage_of(result or {})
        self.current = None
        self.declined.clear()
        self._used.clear()
        self._say(TurnEnded(status, message, code, usage, reply="" if is_failure else turn.reply))

    def take(self, update: Mapping[str, Json]) -> bool:
        """Take an update of the running turn. Returns whether it was of a kind that is known here."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._take_chunk("agent_message", update)
            case "agent_thought_chunk":
                self._take_chunk("reasoning", update)
            case "tool_call" | "tool_call_update":
                self.take_call(update)
            case "plan" | "plan_update":
                self._take_plan(update)
            case "user_message_chunk":
                pass  # our own words
            case _:
                return False
        return True

    def take_call(self, call: Mapping[str, Json], *, is_asked: bool = False) -> Item | None:
        """Take what a message says of a tool call, and return its item where it has begun. is_asked: leave is asked."""
        call_id = text_of(call.get("toolCallId"))
        if not call_id:
            self._say(Raw("tool_call"))
            return None
        before = self.items.get(call_id)
        if before is None and call_id in self._used:
            return None  # it has ended already
        merged = {**self._sketches.pop(call_id, {}), **{key: value for key, value in call.items() if value is not None}}
        if before is None and not is_asked and tool_calls.is_sketch(merged):
            self._sketches[call_id] = merged
            return None
        self._end_message("completed")
        return self._advance(self._start_call(merged), merged)

    def take_usage(self, update: Mapping[str, Json]) -> None:
        """Take what the session has used."""
        used, size = number(update.get("used")), number(update.get("size"))
        cost = number(mapping(update.get("cost")).get("amount"))
        self._cost_usd = self._cost_usd if cost is None else cost
        self._usage = replace(
            self._usage,
            context=int(used) if used else self._usage.context,  # 0 after a failure or a cancel
            window=self._usage.window if size is None else int(size),
        )
        self._say(UsageUpdated(self._usage))

    # Messages --------------------------------------------------------------------------------------------------------
    def _take_chunk(self, kind: ItemKind, update: Mapping[str, Json]) -> None:
        text = tool_calls.text_in(update.get("content"))
        if not text or self.current is None:
            return
        told = text_of(update.get("messageId"))
        wanted = f"{told}/thought" if told and kind == "reasoning" else told
        item = self.items.get(self._message)
        is_same = item is not None and item.kind == kind and (not wanted or self._message.startswith(wanted))
        if not is_same:
            self._end_message("completed")
            self._message = self._fresh_id(wanted or "message")
            self.items.start(Item(self._message, kind))
        self.items.append(self._message, text)

    def _end_message(self, status: ItemStatus) -> None:
        ended = self.items.end(self._message, status)
        self._message = ""
        if ended is not None and ended.kind == "agent_message" and self.current is not None:
            self.current.reply = ended.text

    def _fresh_id(self, wanted: str) -> str:
        """Return an id that no item of the turn has had; a message may go on after a tool call under its old id."""
        if self.current is not None:
            self.current.messages += 1
        turn_id = self.current.turn_id if self.current is not None else ""
        fresh = wanted
        if wanted == "message" or wanted in self._used:
            fresh = f"{wanted}/{turn_id}/{self.current.messages if self.current is not None else 0}"
        self._used.add(fresh)
        return fresh

    # Tool calls ------------------------------------------------------------------------------------------------------
    def _start_call(self, call: Mapping[str, Json]) -> Item:
        item = tool_calls.item_of(call, self.items.get(text_of(call.get("toolCallId"))), self._cwd)
        self._sketches.pop(item.id, None)
        self._used.add(item.id)
        self.items.start(item)
        return item

    def _advance(self, item: Item, call: Mapping[str, Json]) -> Item:
        output = tool_calls.output_of(call)
        self.items.append(item.id, tool_calls.output_piece(call))
        code = tool_calls.exit_code_of(call)
        if code is not None:
            item = replace(item, exit_code=code)
            self.items.start(item)
        status = self._ended_as(item, call.get("status"))
        if status is None:
            so_far = self.items.text(item.id)
            if output is not None and output.startswith(so_far):
                self.items.append(item.id, output[len(so_far) :])
            return item
        self.items.end(item.id, status, **({} if output is None else {"text": output}))
        return item

    def _ended_as(self, item: Item, status: Json) -> ItemStatus | None:
        match status:
            case "completed":
                return "completed"
            case "cancelled":
                return "interrupted"
            case "failed" if item.id in self.declined:
                return "declined"
            case "failed" if self.current is not None and self.current.is_cancelled:
                return "interrupted"
            case "failed":
                return "failed"
            case _:
                return None

    def _take_plan(self, update: Mapping[str, Json]) -> None:
        if self.current is None:
            return
        self._end_message("completed")
        self.current.plans += 1
        entries = [mapping(entry) for entry in listing(update.get("entries"))]
        steps = tuple((text_of(entry.get("content")), _step_state(entry.get("status"))) for entry in entries)
        plan_id = f"plan/{self.current.turn_id}/{self.current.plans}"
        self.items.add(Item(plan_id, "plan", "completed", title="Plan", native_kind="plan", steps=steps))

    def _usage_of(self, result: Mapping[str, Json]) -> Usage:
        told = mapping(result.get("usage"))
        quota = mapping(mapping(mapping(result.get("_meta")).get("quota")).get("token_count"))
        cost = None if self._cost_usd is None else max(0.0, round(self._cost_usd - self._cost_before, 9))
        self._cost_before = self._cost_usd or self._cost_before
        return replace(
            self._usage,
            input=_tokens(told.get("inputTokens"), quota.get("input_tokens")),
            cached=_tokens(told.get("cachedReadTokens"), None),
            output=_tokens(told.get("outputTokens"), quota.get("output_tokens")),
            cost_usd=cost,
        )


def _tokens(*told: Json) -> int | None:
    return next((count(one) for one in told if number(one) is not None), None)


def _step_state(status: Json) -> str:
    return status if isinstance(status, str) and status in _STEP_STATES else "pending"
