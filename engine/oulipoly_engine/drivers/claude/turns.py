"""The turn that runs: claude's stream, messages, tool results and `result` as items and the turn's end. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live.events import (
    AnyEvent,
    Item,
    ItemKind,
    ItemStatus,
    Raw,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageUpdated,
)
from oulipoly_engine.drivers.claude import results, tools
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, number, text_of
from oulipoly_engine.drivers.turn_items import TurnItems
from oulipoly_engine.records import Record

_LEFT_OPEN: dict[str, ItemStatus] = {"completed": "interrupted", "failed": "failed", "interrupted": "interrupted"}
_MESSAGES: dict[str, ItemKind] = {"text": "agent_message", "thinking": "reasoning"}


class Turn(Record, frozen=False):
    """A turn that was sent or runs."""

    uuid: str = ""  # of our message; empty for a turn that claude began by itself
    text: str = ""
    is_compaction: bool = False
    is_started: bool = False
    is_interrupted: bool = False  # we have asked for its end
    error: str = ""  # of a message that is no answer
    failure: str = ""  # of a compaction
    is_spent: bool = False  # the plan's window is used up
    reply: str = ""
    last_message: str = ""  # uuid of the agent's last message


class Turns:
    """Turns one after the other, and what is open in the one that runs."""

    def __init__(self, say: Callable[[AnyEvent], None], cwd: str, started: Callable[[Turn], None]) -> None:
        """Take events to `say`, and tell `started` of each turn at claude's first sign of it."""
        self.cwd = cwd
        self.current: Turn | None = None
        self.items = TurnItems(say)
        self.declined: set[str] = set()  # calls that a person has denied
        self._say, self._started = say, started
        self._calls: dict[str, tuple[str, Mapping[str, Json]]] = {}  # open tool calls: the tool and its input
        self._tasks = tools.TaskList()
        self._stream_message = ""  # id of the message that streams
        self._streams: dict[int, str] = {}  # its blocks' item ids
        self._blocks: dict[str, int] = {}  # messages of the turn: how many blocks have come
        self._context: int | None = None  # tokens in the window
        self._window: int | None = None  # tokens that fit, which the first result tells
        self._cost_usd = 0.0  # of the process so far
        self._compactions = 0

    # Begin and end ---------------------------------------------------------------------------------------------------
    def work(self) -> Turn:
        """Return the turn that runs; claude's first sign starts it, and what nobody sent is claude's own turn."""
        turn = self.current = self.current or Turn()
        if turn.is_started:
            return turn
        turn.is_started = True
        self._say(TurnStarted(turn.uuid))
        if turn.text and not turn.is_compaction:
            self.items.add(Item(turn.uuid, "user_message", "completed", turn.text))
        self._started(turn)
        return turn

    def end(self, message: Mapping[str, Json]) -> None:
        """Take the result: whatever is open belongs to the turn, and nobody else will close it."""
        cost = self.cost_of(message)
        turn = self.work()
        ending = results.ending_of(
            message, error=turn.error, is_spent=turn.is_spent, is_interrupted=turn.is_interrupted
        )
        if turn.failure and ending.status == "completed":
            ending = results.Ending("failed", turn.failure)
        usage = results.usage_of(message, cost_usd=cost, context=self._context)
        if usage.window is not None and usage.window != self._window:
            self._window = usage.window
            self._tell_usage()
        reply = "" if turn.error else turn.reply
        self.items.end_all(_LEFT_OPEN[ending.status])
        self._forget()
        self._say(TurnEnded(*ending, usage=usage, reply=reply, fork_at=turn.last_message))

    def cost_of(self, message: Mapping[str, Json]) -> float | None:
        """Return what has been spent since the last result: claude tells the process's sum."""
        total = number(message.get("total_cost_usd"))
        if total is None:
            return None
        cost, self._cost_usd = max(0.0, round(total - self._cost_usd, 9)), total
        return cost

    def steer_refusal(self, *, has_request: bool) -> str:
        """Return why the running turn would not take a message now, or nothing."""
        turn = self.current
        if turn is None or not turn.is_started:
            return Need.TURN.value
        if turn.is_interrupted or self.items.has("compaction"):
            return "the running turn takes no message"
        runs = has_request or self.items.has("command", "file_change", "tool", "plan")
        if not runs or self.items.has("agent_message", "reasoning"):
            return "claude takes a message only while a tool runs"
        return ""

    def start_compaction(self) -> None:
        """Begin the item of a compaction, which may come within a turn as well."""
        if self.items.has("compaction"):
            return
        self._compactions += 1
        self.items.start(Item(f"compaction/{self._compactions}", "compaction", title="Shortens the past"))

    def end_compaction(self, status: ItemStatus, text: str) -> None:
        """End it."""
        self.items.end(f"compaction/{self._compactions}", status, text=text)

    # What comes ------------------------------------------------------------------------------------------------------
    def take_stream(self, line: Mapping[str, Json]) -> None:
        """Take a piece of a message."""
        if line.get("parent_tool_use_id"):
            return  # a sub-agent's: its messages come whole as well
        self.work()
        event = mapping(line.get("event"))
        index = count(event.get("index"))
        match event.get("type"):
            case "message_start":
                started = mapping(event.get("message"))
                self._stream_message = text_of(started.get("id"))
                self._streams.clear()
                self._use(mapping(started.get("usage")))
            case "content_block_start":
                self._start_stream(index, text_of(mapping(event.get("content_block")).get("type")))
            case "content_block_delta":
                delta = mapping(event.get("delta"))
                text = text_of(delta.get("text")) or text_of(delta.get("thinking"))
                self.items.append(self._streams.get(index, ""), text)

    def take_assistant(self, line: Mapping[str, Json]) -> None:
        """Take a message of the agent, one block of it a line."""
        message, parent = mapping(line.get("message")), text_of(line.get("parent_tool_use_id"))
        blocks = [mapping(block) for block in listing(message.get("content"))]
        if parent:
            for block in blocks:
                self._take_inner_block(parent, block)
            return
        turn = self.work()
        turn.last_message = text_of(line.get("uuid")) or turn.last_message
        if text_of(line.get("error")):  # no answer: the API's failure as a message, which the result repeats
            turn.error = text_of(line.get("error"))
            return
        if not self._stream_message:
            self._use(mapping(message.get("usage")))
        for block in blocks:
            self._take_block(turn, text_of(message.get("id")) or "message", block)

    def take_user(self, line: Mapping[str, Json]) -> None:
        """Take the results of tools; other messages of a user are our own, or claude's notes to its model."""
        for block in map(mapping, listing(mapping(line.get("message")).get("content"))):
            if block.get("type") == "tool_result":
                self._end_tool(text_of(block.get("tool_use_id")), block, line.get("tool_use_result"))

    def _start_stream(self, index: int, block: str) -> None:
        kind = _MESSAGES.get(block)
        if kind is not None:
            self._streams[index] = f"{self._stream_message or 'message'}/{index}"
            self.items.start(Item(self._streams[index], kind, native_kind=block))

    def _take_block(self, turn: Turn, message_id: str, block: Mapping[str, Json]) -> None:
        index = self._blocks.get(message_id, 0)
        self._blocks[message_id] = index + 1
        match block.get("type"):
            case "text" if text_of(block.get("text")) not in ("", "(no content)"):
                turn.reply = text_of(block.get("text"))
                self._end_message(f"{message_id}/", index, "agent_message", turn.reply)
            case "thinking":
                self._end_message(f"{message_id}/", index, "reasoning", text_of(block.get("thinking")))
            case "tool_use":
                self._start_tool(block)
            case "text" | "redacted_thinking":
                pass
            case other:
                self._say(Raw(f"assistant/{other}"))

    def _take_inner_block(self, parent: str, block: Mapping[str, Json]) -> None:
        """Show what a sub-agent does: its words as the output of the call that started it, its calls as items."""
        if block.get("type") == "tool_use":
            self._start_tool(block)
        elif text_of(block.get("text")):
            self.items.append(parent, text_of(block.get("text")) + "\n")

    def _end_message(self, prefix: str, index: int, kind: ItemKind, text: str) -> None:
        streamed = (item for item in self.items.open_items() if item.id.startswith(prefix) and item.kind == kind)
        item = next(streamed, None)
        if item is None:
            self.items.add(Item(f"{prefix}{index}", kind, "completed", text))
        else:
            self.items.end(item.id, "completed", text=text)

    def _start_tool(self, block: Mapping[str, Json]) -> None:
        tool_use_id, tool = text_of(block.get("id")), text_of(block.get("name")) or "tool"
        if tool_use_id:
            self._calls[tool_use_id] = (tool, mapping(block.get("input")))
            self.items.start(tools.item_of(tool_use_id, tool, mapping(block.get("input")), self.cwd))

    def _end_tool(self, tool_use_id: str, result: Mapping[str, Json], told: Json) -> None:
        item = self.items.get(tool_use_id)
        tool, given = self._calls.pop(tool_use_id, ("", {}))
        if item is None:
            return
        fields = tools.outcome_of(item, result, told)
        if fields["status"] == "completed" and tool.startswith("Task"):
            fields["steps"] = self._tasks.apply(tool, given, told)
        if fields["status"] == "failed" and tool_use_id in self.declined:
            fields["status"] = "declined"
        elif fields["status"] == "failed" and self.current is not None and self.current.is_interrupted:
            fields["status"] = "interrupted"
        self.declined.discard(tool_use_id)
        self.items.end(tool_use_id, **fields)

    def _use(self, usage: Mapping[str, Json]) -> None:
        self._context = results.context_of(usage) or self._context
        if self._context is not None:
            self._tell_usage()

    def _tell_usage(self) -> None:
        self._say(UsageUpdated(Usage(context=self._context, window=self._window)))

    def _forget(self) -> None:
        self._calls.clear()
        self.declined.clear()
        self._blocks.clear()
        self._streams.clear()
        self._stream_message = ""
        self.current = None
