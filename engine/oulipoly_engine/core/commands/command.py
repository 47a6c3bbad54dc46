"""One thing that a user can do, with every fact that all faces tell of it. Pure.

Named tuples and no Records: `--help` lists commands and loads no msgspec, which takes 20 ms.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from oulipoly_engine.core.commands.needs import OF_ARGUMENTS, Need

if TYPE_CHECKING:
    from oulipoly_engine.core.web.devices import Scope

Choices = Literal["accounts", "models", "themes", "export formats", "views", "runs", "runtimes", "session models"]


class Argument(NamedTuple):
    """One argument, as a line names it."""

    name: str
    choices: Choices | None = None  # None: anything
    is_rest: bool = False  # takes all words that are left, as one text
    is_optional: bool = False


SESSION = Argument("session")  # what is open, where a face shows one session
ACCOUNT = Argument("account", "accounts")
MODEL = Argument("model", "models")
TEXT = Argument("text", is_rest=True)


class Command(NamedTuple):
    """One command. A face adds how it is called there: an option, a key, a path, a place in a menu."""

    name: str  # "session name": a noun and its verb, or one word; "": a face's own business, which changes nothing
    label: str  # at most four words; for menus and footers
    summary: str  # what it does, as an infinitive in lower case without its full stop
    arguments: tuple[Argument, ...] = ()  # the first ones say what must exist, or be selected
    synonyms: tuple[str, ...] = ()  # what others call it: searches find it by them
    writes: bool = False  # changes something, or starts a program: not there in read-only mode
    destroys: bool = False  # what it ends or replaces is gone, or back by `undo` alone: a screen asks first
    needs: tuple[Need, ...] = ()  # beside what its arguments say
    undo: str = ""  # the command that takes it back; "": none does, and the command line asks first too
    scope: Scope | None = None  # what a device of the server needs for it; None: nothing but this computer does it
    is_confirmed: bool = False  # the device was also confirmed within the last quarter of an hour

    @property
    def all_needs(self) -> tuple[Need, ...]:
        """Return what must be there before it works, or be chosen, the first to be asked for first."""
        chosen = (OF_ARGUMENTS.get(argument.name) for argument in self.arguments[:1] if not argument.is_optional)
        return (*(need for need in chosen if need is not None), *self.needs)

    @property
    def sentence(self) -> str:
        """Return the summary as a sentence without its full stop."""
        return self.summary[0].upper() + self.summary[1:]

    @property
    def menu_line(self) -> str:
        """Return label and summary, for menus that have one column."""
        return f"{self.label[0].upper()}{self.label[1:]}: {self.summary}"


reads = Command
writes = partial(Command, writes=True)
destroys = partial(Command, writes=True, destroys=True)
