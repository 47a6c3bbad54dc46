"""Write a past conversation as Codex would have: tools, thoughts, a compaction, a turn that was refused."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from oulipoly_demo.base import ids
from oulipoly_demo.base.codex_files import CodexConversation, rollout
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.conversation import Answer
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.past.quota import AccountPast
from oulipoly_demo.past.stories import Story, Workspace
from oulipoly_demo.past.talk import Exchange, Step, summary
from oulipoly_demo.quota.levels import Tokens
from oulipoly_engine.records import Record

_OVERLOADED = Failure("server", "the demo's server is overloaded", 529, "overloaded_error")
_COMMANDS = {"Read": "sed -n 1,120p {}", "Edit": "apply_patch {}", "Grep": "rg -n {}", "Bash": "{}"}
_BEGINNING = 9_000


class PastCodex(Record, frozen=False):
    """One conversation being written down."""

    story: Story
    space: Workspace
    context: CliContext
    model: str
    dice: random.Random
    past: AccountPast
    session_id: str = ""
    calls: int = 0

    def write(self, dialogue: Sequence[Exchange], instants: Sequence[float]) -> tuple[Path, float]:
        """Write the rollout; return its path and the instant of its last line."""
        self.session_id = self._timed(instants[0])
        path = rollout(self.context, self.session_id, instants[0])
        path.unlink(missing_ok=True)
        talk = CodexConversation(
            self.context,
            self.session_id,
            path,
            source="exec" if self.story.model else "cli",
            records=[],
            new_id=self._timed,
            tiers_at=self.past.tiers_at,
        )
        at = instants[0]
        try:
            for number, (exchange, begin) in enumerate(zip(dialogue, instants, strict=True)):
                at = self._exchange(talk, exchange, begin)
                if number == len(dialogue) // 2:
                    at = self._middle(talk, at)
        finally:
            talk.close()
        return path, at

    def _exchange(self, talk: CodexConversation, exchange: Exchange, begin: float) -> float:
        talk.begin(exchange.prompt, self.model, begin)
        at = begin + self.dice.uniform(2, 6)
        for step in exchange.steps:
            self._step(talk, step, at)
            at += self.dice.uniform(2, 12)
        used = Tokens(_BEGINNING + 40 * len(talk.turns) + len(exchange.prompt) // 4, len(exchange.answer) // 4)
        talk.finish(Answer(exchange.answer, self.model, used), at)
        self.calls += 1
        return at

    def _step(self, talk: CodexConversation, step: Step, at: float) -> None:
        if step.kind == "think":
            thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": step.text}], "content": None}
            talk.append(at, ("response_item", thought | {"encrypted_content": None}))
            return
        call_id = f"call_{self.dice.randbytes(12).hex()}"
        arguments = json.dumps({"cmd": _COMMANDS[step.tool].format(step.target)})
        call = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id}
        output = f"Process exited with code {int(step.is_error)}\nOutput:\n{step.text}"
        result = {"type": "function_call_output", "call_id": call_id, "output": output}
        talk.append(at, ("response_item", call))
        talk.append(at + 0.7, ("response_item", result))

    def _middle(self, talk: CodexConversation, at: float) -> float:
        if "compact" in self.story.traits:
            talk.append(at + 10, ("compacted", {"message": summary(self.story, self.space), "replacement_history": []}))
        if "refused" in self.story.traits:
            talk.begin("Go on, please.", self.model, at + 30)
            talk.fail(_OVERLOADED, at + 34)
        return at + 40

    def _timed(self, at: float) -> str:
        return ids.uuid_of(int(at * 1000).to_bytes(6, "big") + self.dice.randbytes(10), version=7)
