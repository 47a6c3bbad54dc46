"""What is said to the user of the screen reader's face, and what is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.facade import output
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine

Ask = Callable[[str], str | None]  # a label; None: the user has ended the input


class Talk(Record):
    """What a menu's actions work with."""

    engine: Engine
    ask: Ask
    read_only: bool

    def say(self, text: str) -> None:
        """Print a line; of several, the others are indented, so that no name passes for a line of ours."""
        first, *others = text.split("\n")
        output.write_lines((first, *(f"  {line}" for line in others)))

    def choose(self, label: str, names: Sequence[str]) -> str | None:
        """Let one of some names be chosen by number or by name; None: none of them."""
        for number, name in enumerate(names, 1):
            self.say(f"  {number}. {name}")
        answer = (self.ask(f"{label}, number or name, empty to go back") or "").strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        if answer in names:
            return answer
        if answer:
            self.say(f"There is no {answer!r} here.")
        return None
