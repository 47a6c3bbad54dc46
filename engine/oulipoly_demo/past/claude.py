"""Write a past conversation as Claude Code would have: tools, thoughts, side chains, branches, compactions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from oulipoly_demo.base import ids, jsonl
from oulipoly_demo.base.claude_files import ClaudeConversation, api_message, synthetic_message
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.past.stories import Story, Workspace
from oulipoly_demo.past.talk import Exchange, Step, errand, summary
from oulipoly_demo.quota.levels import Tokens
from oulipoly_engine.records import Record, field

_REFUSED = "API Error: 529 Overloaded. This is a demo: nobody was asked."
_INTERRUPTED = "[Request interrupted by user]"
_INPUTS = {"Read": "file_path", "Edit": "file_path", "Bash": "command", "Grep": "pattern", "Task": "prompt"}
_BEGINNING = 14_000  # tokens of system prompt and tools that every call reads from the cache

Records = list[dict[str, Any]]


class PastClaude(Record, frozen=False):
    """One conversation being written down."""

    story: Story
    space: Workspace
    context: CliContext
    model: str
    dice: random.Random
    session_id: str = ""
    calls: int = 0  # answered API calls
    _records: Records = field(default_factory=list)
    _context: int = _BEGINNING

    def write(self, dialogue: Sequence[Exchange], instants: Sequence[float]) -> tuple[Path, float]:
        """Write the transcript and what lies beside it; return its path and the instant of its last line."""
        self.session_id = self._uuid()
        entrypoint = "sdk-cli" if self.story.model else "cli"
        talk = ClaudeConversation(self.context, self.session_id, entrypoint=entrypoint, records=[], new_id=self._uuid)
        at = instants[0]
        for number, (exchange, begin) in enumerate(zip(dialogue, instants, strict=True)):
            is_middle = number == len(dialogue) // 2
            if is_middle and "compact" in self.story.traits:
                self._compact(talk, begin - 5)
            before = talk.leaf
            at = self._exchange(talk, exchange, begin)
            if is_middle:
                at = self._middle(talk, before, at)
        last = {"type": "last-prompt", "lastPrompt": dialogue[-1].prompt[:200], "leafUuid": talk.leaf}
        self._records.append(last | {"sessionId": self.session_id})
        talk.path.unlink(missing_ok=True)
        jsonl.append(talk.path, self._records, new=True)
        if "agents" in self.story.traits:
            self._sub_agent(talk, at)
        return talk.path, at

    def _middle(self, talk: ClaudeConversation, before: str | None, at: float) -> float:
        if "side" in self.story.traits:
            at = self._side_chain(talk, at + 20)
        if "refused" in self.story.traits:
            self._ask(talk, "Go on, please.", at + 40)
            self._records.append(
                talk.record("assistant", synthetic_message(_REFUSED), at + 44) | {"isApiErrorMessage": True}
            )
        if "interrupted" in self.story.traits:
            self._ask(talk, "Use green for wet and red for dry", at + 40)
            stopped = {"role": "user", "content": [{"type": "text", "text": _INTERRUPTED}]}
            self._records.append(talk.record("user", stopped, at + 47))
        if "branch" in self.story.traits:
            talk.go_back(before)
            other = Exchange(
                "Rather keep it in one file. How would that look?", (), f"In `{self.space.files[0]}`, then."
            )
            at = self._exchange(talk, other, at + 60)
        return at + 60

    def _exchange(self, talk: ClaudeConversation, exchange: Exchange, begin: float) -> float:
        self._ask(talk, exchange.prompt, begin)
        at = begin + self.dice.uniform(2, 6)
        for step in exchange.steps:
            for record in self._step(talk, step, at):
                self._records.append(record)
                at += self.dice.uniform(1, 9)
        self._records.append(talk.record("assistant", self._message([_text(exchange.answer)]), at))
        return at

    def _ask(self, talk: ClaudeConversation, prompt: str, at: float) -> None:
        record = talk.record("user", {"role": "user", "content": prompt}, at)
        self._records.append(record | {"permissionMode": "default", "promptSource": "typed"})
        self._context += len(prompt) // 4

    def _step(self, talk: ClaudeConversation, step: Step, at: float) -> Iterator[dict[str, Any]]:
        if step.kind == "think":
            yield talk.record(
                "assistant", self._message([{"type": "thinking", "thinking": step.text, "signature": ""}]), at
            )
            return
        call_id = f"toolu_{self.dice.randbytes(12).hex()}"
        tool_input = {_INPUTS[step.tool]: step.target}
        block = {"type": "tool_use", "id": call_id, "name": step.tool, "input": tool_input}
        yield talk.record("assistant", self._message([block]) | {"stop_reason": "tool_use"}, at)
        yield talk.record("user", _result(call_id, step.text, is_error=step.is_error), at + 0.8)

    def _side_chain(self, talk: ClaudeConversation, at: float) -> float:
        """Let a sub-agent work inside the same file, as Claude did before it gave them files of their own."""
        task = errand(self.space, self.dice)
        call_id = f"toolu_{self.dice.randbytes(12).hex()}"
        block = {"type": "tool_use", "id": call_id, "name": "Task", "input": {"prompt": task.prompt}}
        self._records.append(talk.record("assistant", self._message([block]) | {"stop_reason": "tool_use"}, at))
        main, begin = talk.leaf, len(self._records)
        talk.go_back(None)
        at = self._exchange(talk, task, at + 1)
        self._records[begin:] = [record | {"isSidechain": True} for record in self._records[begin:]]
        talk.go_back(main)
        self._records.append(talk.record("user", _result(call_id, task.answer), at + 1))
        self._records.append(
            talk.record("assistant", self._message([_text("The search came back with three uses.")]), at + 4)
        )
        return at + 4

    def _sub_agent(self, talk: ClaudeConversation, at: float) -> None:
        task, agent = errand(self.space, self.dice), self.dice.randbytes(4).hex()
        self._records = []
        talk.go_back(None)
        self._exchange(talk, task, at - 40)
        path = talk.path.with_suffix("") / "subagents" / f"agent-{agent}.jsonl"
        path.unlink(missing_ok=True)
        jsonl.append(path, [record | {"isSidechain": True, "agentId": agent} for record in self._records], new=True)

    def _compact(self, talk: ClaudeConversation, at: float) -> None:
        edge = talk.record("system", {}, at)
        edge.pop("message")
        about = {"trigger": "auto", "preTokens": self._context}
        self._records.append(
            edge | {"subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": about}
        )
        message = {"role": "user", "content": summary(self.story, self.space)}
        self._records.append(
            talk.record("user", message, at + 1) | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        )
        self._context = _BEGINNING

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        path = len(json.dumps(content)) // 4
        message = api_message("", self.model, Tokens(self.dice.randrange(3, 12), path))
        message |= {"id": f"msg_{self.dice.randbytes(12).hex()}", "content": content}
        message["usage"] |= {"cache_read_input_tokens": self._context, "cache_creation_input_tokens": 2 * path}
        self._context = min(160_000, self._context + 3 * path)
        self.calls += 1
        return message

    def _uuid(self) -> str:
        return ids.uuid_of(self.dice.randbytes(16), version=4)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call_id: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {"role": "user", "content": [block | {"is_error": True} if is_error else block]}
