"""What `codex proto` tells of one run, as items of ours, and the reply that it comes to. Pure (contract B5)."""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Callable, Mapping

from oulipoly_engine.core.live.events import (
    AnyEvent,
    FileChange,
    Item,
    ItemKind,
    Prompt,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageUpdated,
)
from oulipoly_engine.core.worktrees.trace import check_plan
from oulipoly_engine.drivers.codex.items import one_line, shell_script
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, number, text_of
from oulipoly_engine.drivers.turn_items import TurnItems, whole_file_diff

_ERROR = "[error]"  # what a reply begins with whose run has failed (contract B5)


class ProtoTurn:
    """One run."""

    def __init__(self, turn_id: str, text: str, say: Callable[[AnyEvent], None]) -> None:
        self.turn_id = turn_id
        self.items = TurnItems(say)
        self.error = ""
        self.last = ""  # the message that the end of the run names
        self._say = say
        self._messages: list[str] = []  # that were told whole
        self._deltas: list[str] = []
        self._thoughts: set[str] = set()  # that were told whole, or in pieces up to their end
        self._written = ""  # the message or the thought that comes in pieces
        self._count = 0
        self._usage: Usage | None = None
        say(TurnStarted(turn_id))
        self.items.add(Item(f"user/{turn_id}", "user_message", "completed", text))

    def take(self, kind: str, message: Mapping[str, Json]) -> bool:
        """Take an event of the run. Returns whether it is known."""
        match kind:
            case "task_started":
                pass
            case "agent_message":
                self._messages.append(text_of(message.get("message")))
                self._finish_text("agent_message", self._messages[-1])
            case "agent_message_delta":
                self._deltas.append(text_of(message.get("delta")))
                self._add_text("agent_message", self._deltas[-1])
            case "agent_reasoning":
                self._finish_thought(text_of(message.get("text")))
            case "agent_reasoning_delta":
                self._add_text("reasoning", text_of(message.get("delta")))
            case "agent_reasoning_section_break":
                self._end_text()
            case "exec_command_begin" | "exec_command_output_delta" | "exec_command_end":
                self._take_command(kind, text_of(message.get("call_id")), message)
            case "update_plan" | "task_plan":
                self._take_plan(message)
            case "token_count":
                self._take_usage(message)
            case "error":
                self.error = text_of(message.get("message")) or "codex does not say what went wrong"
            case _:
                return False
        return True

    def end(self, status: TurnEnd) -> None:
        """End the run with all that is open."""
        self._end_text("completed" if status == "completed" else "interrupted")
        self.items.end_all("failed" if status == "failed" else "interrupted")
        reply = "\n".join(self._messages) or "".join(self._deltas) or self.last
        if self.error:
            reply = f"{_ERROR} {self.error}\n{reply}".rstrip()
        self._say(TurnEnded(status, self.error, usage=self._usage, reply=reply))

    # Texts -----------------------------------------------------------------------------------------------------------
    def _add_text(self, kind: ItemKind, text: str) -> None:
        item = self.items.get(self._written)
        if item is None or item.kind != kind:
            self._end_text()
            self._written = self._new_id()
            self.items.start(Item(self._written, kind))
        self.items.append(self._written, text)

    def _finish_text(self, kind: ItemKind, text: str) -> None:
        item = self.items.get(self._written)
        if item is not None and item.kind == kind:
            self.items.end(self._written, text=text)
        else:
            self._end_text()
            self.items.add(Item(self._new_id(), kind, "completed", text))
        self._written = ""

    def _finish_thought(self, text: str) -> None:
        if text not in self._thoughts:  # else its pieces have told it, up to the break of a section
            self._thoughts.add(text)
            self._finish_text("reasoning", text)

    def _end_text(self, status: str = "completed") -> None:
        ended = self.items.end(self._written, "completed" if status == "completed" else "interrupted")
        if ended is not None and ended.kind == "reasoning":
            self._thoughts.add(ended.text)
        self._written = ""

    def _new_id(self) -> str:
        self._count += 1
        return f"item/{self.turn_id}/{self._count}"

    # The rest --------------------------------------------------------------------------------------------------------
    def _take_command(self, kind: str, call_id: str, message: Mapping[str, Json]) -> None:
        if kind == "exec_command_begin":
            self._end_text()
            title = one_line(shell_script(command_of(message)))
            cwd = text_of(message.get("cwd"))
            self.items.start(Item(call_id, "command", title=title, native_kind="exec_command", cwd=cwd))
        elif kind == "exec_command_output_delta":
            stream = "stderr" if message.get("stream") == "stderr" else ""
            self.items.append(call_id, chunk_text(message.get("chunk")), stream)
        else:
            code = count(message.get("exit_code"))
            said = text_of(message.get("aggregated_output")) or "".join(
                text_of(message.get(stream)) for stream in ("stdout", "stderr")
            )
            text = self.items.text(call_id) or said
            self.items.end(call_id, "failed" if code else "completed", exit_code=code, text=text)

    def _take_plan(self, message: Mapping[str, Json]) -> None:
        told = (mapping(step) for step in listing(message.get("plan")))
        steps = check_plan((text_of(step.get("step")), text_of(step.get("status"))) for step in told)
        if steps:  # contract B8: a snapshot that is empty or broken is none
            why = text_of(message.get("explanation"))
            self.items.add(Item(self._new_id(), "plan", "completed", why, "Plan", "update_plan", steps=steps))

    def _take_usage(self, message: Mapping[str, Json]) -> None:
        info = mapping(message.get("info"))
        told = mapping(info.get("total_token_usage")) or message
        window = number(info.get("model_context_window"))
        self._usage = Usage(
            input=count(told.get("input_tokens")),
            cached=count(told.get("cached_input_tokens")),
            output=count(told.get("output_tokens")),
            window=None if window is None else int(window),
        )
        self._say(UsageUpdated(self._usage))


def command_of(message: Mapping[str, Json]) -> str:
    """Return the command of an event as one line for a shell."""
    return shlex.join(word for word in listing(message.get("command")) if isinstance(word, str))


def chunk_text(chunk: Json) -> str:
    """Return a piece of output: codex writes it as base64, older ones as a list of bytes."""
    if isinstance(chunk, str):
        try:
            return base64.b64decode(chunk, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return chunk
    return bytes(byte for byte in listing(chunk) if isinstance(byte, int) and 0 <= byte < 256).decode(
        "utf-8", "replace"
    )


def file_changes(changes: Json) -> tuple[FileChange, ...]:
    """Read changes by path: `{"add": true, "content"}`, `{"add": {"content"}}`, `{"update": {"unified_diff"}}`."""
    return tuple(_file_change(path, mapping(change)) for path, change in mapping(changes).items())


def patch_prompt(changes: tuple[FileChange, ...], why: str) -> Prompt:
    """Return what a request for leave to change files asks."""
    title = f"{changes[0].kind} {changes[0].path}" if len(changes) == 1 else f"{len(changes)} files"
    return Prompt(one_line(title), reason=why, changes=changes, reach="changes of files, as long as this codex runs")


def _file_change(path: str, change: Mapping[str, Json]) -> FileChange:
    kind = next((kind for kind in ("add", "delete", "update") if kind in change), "update")
    told = {**change, **mapping(change.get(kind))}
    diff, content = text_of(told.get("unified_diff")), text_of(told.get("content"))
    if not diff and kind in ("add", "delete"):
        diff = whole_file_diff(content, "+" if kind == "add" else "-")
    return FileChange(path, kind, diff)
