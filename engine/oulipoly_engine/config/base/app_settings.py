"""What app.toml and the themes say, as values, and the words that they may say it with. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.records import Record, field

_PART = r"\{\{|\}\}|\{([^{}]*)\}|[{}]"

# Of the user's own commands: where their rows stand, where they run, and what of the row they may be given.
PANES = ("pools", "quota", "sessions", "transcript", "terminals")
RUNS = ("terminal", "background", "screen")
PLACEHOLDERS = (
    *("account", "pool", "model", "cli"),
    *("session", "native_id", "title", "transcript", "cwd", "terminal"),
)


class CustomCommand(Record):
    """A command of the user's own on a row of the app."""

    name: str
    words: tuple[str, ...]  # the program and its arguments, with placeholders in braces
    key: str = ""  # as in `[keys]`; empty: it has none
    panes: tuple[str, ...] = ()  # of PANES; none: every one
    run: str = "terminal"  # one of RUNS
    confirm: bool = False
    place: int = 0  # in the file, from 0, those with errors counted too

    @property
    def placeholders(self) -> tuple[str, ...]:
        """Return what it has to be given of a row."""
        return tuple(dict.fromkeys(name for word in self.words for name in list_placeholders(word)))


class AppSettings(Record):
    """app.toml."""

    theme: str | None = None  # None: the app's own choice
    preset: str = "default"
    footer: str = "full"
    motion: str = "full"
    read_only: bool = False
    escape_leaves: bool = False  # Escape pressed twice in haste leads out of a terminal
    keys: Mapping[str, str] = field(default_factory=dict)  # id of a binding -> keys by comma, or "none"
    progress: str = "auto"  # whether the outer terminal is told that work is under way
    status: Mapping[str, str] = field(default_factory=dict)  # name -> template of a status line
    views: tuple[SavedView, ...] = ()  # of the list of sessions, in the file's order
    commands: tuple[CustomCommand, ...] = ()  # in the file's order


def list_placeholders(word: str) -> tuple[str, ...]:
    """Return the names in braces of a word; doubled braces stand for themselves. Raises ValueError."""
    found = []
    for part in re.finditer(_PART, word):
        if part[0] in ("{", "}"):
            raise ValueError(f"a brace stands alone in {word!r}: double it where it stands for itself")
        if part[1] is not None:
            found.append(part[1])
    return tuple(found)


def fill(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return words with what placeholders stand for: each stays one word, whatever is in it, and no shell reads it.

    Raises ValueError where a value cannot be an argument, or would be taken for an option of the program.
    """
    return tuple(_fill(word, values) for word in words)


def _fill(word: str, values: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0][0]
        value = values[name]
        if "\0" in value:
            raise ValueError(f"the {name} of this row holds a NUL character, which no program can be given")
        if found.start() == 0 and value.startswith(("-", "+")):  # `vim +COMMAND`, `less +!COMMAND`
            message = f"the {name} of this row begins with {value[0]}, so that a program would take it for an option"
            raise ValueError(message)
        return value

    return re.sub(_PART, put, word)


class ThemeFile(Record):
    """A user's own theme."""

    name: str
    dark: bool
    colours: Mapping[str, str]  # by the names of the schema's ThemeTable
