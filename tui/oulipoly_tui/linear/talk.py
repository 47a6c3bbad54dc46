"""What is said to the user of the screen reader's face, and what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from oulipoly_engine.errors import RunnerError, translate_system_errors
from oulipoly_engine.facade import output
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine

ReadLine = Callable[[str], str]  # a label; raises EOFError at the end of the input
Used = TypeVar("Used")
_DURATION = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?) (min|[smhd])(?![\w/])")
_UNITS = {"s": "second", "min": "minute", "m": "minute", "h": "hour", "d": "day"}
_AT_ONCE = 10  # of what is chosen from many
_ASKS_HELP = ("?", "help")
_HELP = "An empty answer goes back. The end of the input, control and d, leaves. Control and c stops what runs."


class Talk(Record):
    """What a menu's actions work with."""

    engine: Engine
    read_line: ReadLine
    read_only: bool
    drop_typed_ahead: Callable[[], None]  # before what must not be answered by what was typed for something else

    def say(self, text: str) -> None:
        """Print a line of ours, its durations in words."""
        self.quote(spell_out(text))

    def quote(self, text: str) -> None:
        """Print a text as it is; of several lines, the others are indented, so that none passes for a line of ours."""
        first, *others = text.split("\n")
        output.write_lines((first, *(f"  {line}" for line in others)))

    def ask(self, label: str, hint: str = "Type a text.") -> str:
        """Return what is typed; raises EOFError at the end of the input. `?` and `help` are answered by the hint."""
        while (answer := self.read_line(label)) in _ASKS_HELP:
            self.say(f"{hint} {_HELP} A space before it makes {answer} itself the answer.")
        return answer

    def ask_until(self, label: str, use: Callable[[str], Used], hint: str = "Type a text.") -> Used | None:
        """Return what the first answer that is not refused is good for; None for an empty one.

        use: raises RunnerError or OSError for a wrong answer, which is said before it is asked again.
        """
        while answer := self.ask(label, hint).strip():
            try:
                with translate_system_errors():
                    return use(answer)
            except RunnerError as error:
                self.say(f"Error. {error.message}.")
        return None

    def confirm(self, question: str) -> bool:
        """Return whether the answer is yes; no is the default."""
        while answer := self.read_line(f"{question} y or n").strip().lower():
            if answer in _ASKS_HELP:
                self.say(f"Type y for yes, n for no. {_HELP}")
                continue
            if answer in ("y", "yes", "n", "no"):
                return answer.startswith("y")
            self.say(f"{answer!r} is neither y nor n.")
        return False

    def choose(self, label: str, names: Sequence[str]) -> str | None:
        """Let one of some names be chosen by number, by name or by how it begins; None: none of them."""
        return self.choose_of(label, names, str)

    def choose_place(self, label: str, names: Sequence[str]) -> int | None:
        """Let one of some names be chosen as `choose` does, and return its place: two of them may be the same."""
        self._list(names)
        hint = f"Type a number, 1 to {len(names)}, or a name, or how it begins."
        question = f"{label.rstrip('.')}, number or name, empty to go back"
        while answer := self.read_line(question).strip():
            if answer.lower() in _ASKS_HELP:
                self.say(f"{hint} {_HELP}")
                self._list(names)
                continue
            if answer.isdecimal() and 1 <= int(answer) <= len(names):
                return int(answer) - 1
            fits = [place for place, name in enumerate(names) if name == answer] or [
                place for place, name in enumerate(names) if name.casefold().startswith(answer.casefold())
            ]
            if len(fits) == 1:
                return fits[0]
            told = f"{answer!r} fits several of them." if fits else f"There is no {answer!r} here."
            self.say(f"{told} `help` tells what can be answered.")
        return None

    def choose_of(
        self, label: str, values: Sequence[Used], name: Callable[[Used], str], empty: str = ""
    ) -> Used | None:
        """Let one of some values be chosen by what is said of it. empty: said where there is none to choose from."""
        if empty and not values:
            self.say(empty)
            return None
        place = self.choose_place(label, [name(value) for value in values])
        return None if place is None else values[place]

    def choose_of_many(self, label: str, values: Sequence[Used], name: Callable[[Used], str]) -> Used | None:
        """Let one of many values be chosen, ten at a time."""
        for start in range(0, len(values), _AT_ONCE):
            page = values[start : start + _AT_ONCE]
            more = ["More"] if start + _AT_ONCE < len(values) else []
            place = self.choose_place(label, [*map(name, page), *more])
            if place is None:
                return None
            if place < len(page):
                return page[place]
        return None

    def _list(self, names: Sequence[str]) -> None:
        for number, name in enumerate(names, 1):
            self.say(f"  {number}. {name}")


def spell_out(text: str) -> str:
    """Return a text with its durations in words: "2 h 1 m" as "2 hours 1 minute"."""
    return _DURATION.sub(lambda found: f"{found[1]} {_UNITS[found[2]]}{'s' * (found[1] != '1')}", text)
