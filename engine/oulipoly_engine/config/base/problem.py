"""What is wrong with a configuration, as values: which file, line and key, why, and the way out. Pure."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from oulipoly_engine.errors import ConfigInvalid
from oulipoly_engine.records import Record

T = TypeVar("T")

KeyPath = tuple[str | int, ...]  # table and key names; a number is a place in a list, from 0


class Level(StrEnum):
    """Whether a problem stops what needs the file."""

    ERROR = "error"
    WARNING = "warning"


class Fault(Record):
    """A problem of a value, before its file and line are known."""

    path: KeyPath
    message: str
    fix: str
    level: Level = Level.ERROR


class Problem(Record):
    """One thing wrong with one file."""

    level: Level
    file: Path
    line: int | None  # from 1; None: the file as a whole
    key: str  # "[account].key", "[[inputs]]#2.type"; empty: the file as a whole
    message: str
    fix: str

    @property
    def text(self) -> str:
        """Return the problem as one line, `FILE:LINE: KEY: MESSAGE. Fix: FIX.`."""
        return f"{self._at(str(self.file))}. Fix: {self.fix}."

    @property
    def brief(self) -> str:
        """Return it for a narrow place, `NAME:LINE: KEY: MESSAGE`."""
        return self._at(self.file.name)

    def _at(self, file: str) -> str:
        place = file if self.line is None else f"{file}:{self.line}"
        key = f"{self.key}: " if self.key else ""
        return f"{place}: {key}{self.message}"


class Loaded(Record, Generic[T]):
    """A value that was read, and what was found wrong on the way."""

    value: T
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Return the problems that stop a run."""
        return tuple(problem for problem in self.problems if problem.level is Level.ERROR)


def settle(loaded: Loaded[T]) -> Loaded[T]:
    """Return what was loaded if nothing but warnings was found.

    Raises ConfigInvalid with the first error, and the number of the others.
    """
    if loaded.errors:
        raise ConfigInvalid(summary(loaded.errors))
    return loaded


def summary(errors: tuple[Problem, ...]) -> str:
    """Return the first problem's text and how many more there are."""
    more = len(errors) - 1
    return errors[0].text + (f" (and {more} more: run `agents config check`)" if more else "")


def describe_value(value: object) -> str:
    """Describe an offending value in a few words, on one line, as TOML people would call it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            text = value if len(value) <= 60 else value[:57] + "..."
            return f"the text {text!r}"
        case int() | float():
            return f"the number {value}" if len(str(value)) <= 40 else "a very long number"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
        case _:
            return f"a {type(value).__name__}"
