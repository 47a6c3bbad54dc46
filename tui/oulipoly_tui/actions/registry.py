"""Commands by name with arguments: the palette (`ctrl+p`) and the line (`:`) offer the same table.

A part of the app adds a module under `orders/` with its `COMMANDS`, and a line in `_MODULES`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from oulipoly_engine.records import Record
from oulipoly_tui.keymap import shown

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_tui.app import AgentsApp

_MODULES = (
    "oulipoly_tui.actions.frame",
    "oulipoly_tui.actions.pools",
    "oulipoly_tui.actions.settings",
    "oulipoly_tui.actions.sessions",
    "oulipoly_tui.actions.session_edit",
    "oulipoly_tui.actions.terminals",
    "oulipoly_tui.actions.views",
)


class Argument(Record):
    """One argument of a command."""

    name: str
    choices: Callable[[Snapshot], Sequence[str]] | None = None  # None: anything
    is_rest: bool = False  # takes all words that are left, as one text
    is_optional: bool = False


class Command(Record):
    """One command."""

    name: str  # one or two words
    summary: str
    run: Callable[[AgentsApp, list[str]], str | None]  # returns what is wrong, in a sentence
    arguments: tuple[Argument, ...] = ()
    writes: bool = False  # not there in read-only mode
    needs_engine: bool = True

    @property
    def usage(self) -> str:
        """Return how it is written."""
        words = (f"[{one.name}]" if one.is_optional else f"<{one.name}>" for one in self.arguments)
        return " ".join((self.name, *words))


@cache
def table() -> tuple[Command, ...]:
    """Return every command."""
    return tuple(command for module in _MODULES for command in import_module(module).COMMANDS)


def find(name: str) -> Command | None:
    """Return a command by its name."""
    return next((command for command in table() if command.name == name), None)


@cache
def _meant() -> dict[str, tuple[str, ...]]:
    """Return what may be typed for which commands' names: a name, or the same without the word for what it acts on."""
    found: dict[str, tuple[str, ...]] = {command.name: (command.name,) for command in table()}
    for name in tuple(found):
        short = name.partition(" ")[2]
        if short and found.get(short) != (short,):
            found[short] = (*found.get(short, ()), name)
    return found


def split(text: str) -> tuple[str, list[str]]:
    """Split what was typed into a command's name and its arguments; quotes hold words together.

    `resume 9e69` gives `session resume`, for there is no other command that ends so.
    """
    text = text.strip().removeprefix(":").strip()
    typed = sorted(_meant(), key=len, reverse=True)
    begun = next((one for one in typed if text == one or text.startswith(one + " ")), text.partition(" ")[0])
    rest = text[len(begun) :].strip()
    name = meant[0] if len(meant := _meant().get(begun, ())) == 1 else begun
    command = find(name)
    if command is not None and command.arguments and command.arguments[-1].is_rest:
        return name, rest.split(maxsplit=len(command.arguments) - 1)
    try:
        return name, shlex.split(rest)
    except ValueError:  # an open quote
        return name, rest.split()


def run(app: AgentsApp, name: str, arguments: list[str]) -> str | None:
    """Run a command; return what is wrong with the wish."""
    command = find(name)
    if command is None:
        if meant := _meant().get(name):
            return f"{name!r} may be {' or '.join(map(repr, meant))}"
        near = get_close_matches(name, [one.name for one in table()], n=1)
        return f"there is no command {name!r}" + (f": did you mean {near[0]!r}?" if near else ": see ctrl+p")
    if command.writes and app.options.read_only:
        return f"{name!r} changes something, and this app is read-only"
    if command.needs_engine and app.engine is None:
        return "still opening: try again in a moment"
    needed = sum(not one.is_optional for one in command.arguments)
    if not needed <= len(arguments) <= len(command.arguments):
        return f"write {command.usage}"
    return command.run(app, arguments)


def completions(text: str, snapshot: Snapshot | None) -> tuple[str, ...]:
    """Return whole lines that what was typed may become, best first."""
    typed = text.strip().removeprefix(":").lstrip()
    name, arguments = split(typed)
    command = find(name)
    if command is None or (typed == name and not text.endswith(" ")):
        lines = [one.name + (" " if one.arguments else "") for one in table()]
        found = [line for line in lines if line.startswith(typed) and line.strip() != typed]
        return (*found, *(line for line in lines if typed and line.partition(" ")[2].startswith(typed)))
    ends_open = text.endswith(" ") or not arguments
    place = len(arguments) if ends_open else len(arguments) - 1
    if place >= len(command.arguments) or snapshot is None:
        return ()
    choices = command.arguments[place].choices
    begun = "" if ends_open else arguments[-1]
    head = " ".join((name, *arguments[:place]))
    return () if choices is None else tuple(f"{head} {one}" for one in choices(snapshot) if one.startswith(begun))


class Commands(Provider):
    """Offers commands with their arguments, and the keys that work now."""

    async def discover(self) -> Hits:
        """Offer everything."""
        for text, help_text, act in self._offers():
            yield DiscoveryHit(text, act, help=help_text)

    async def search(self, query: str) -> Hits:
        """Offer what resembles the query."""
        matcher = self.matcher(query)
        for text, help_text, act in self._offers():
            score = matcher.match(text)
            if score > 0:
                yield Hit(score, matcher.highlight(text), act, help=help_text)

    def _offers(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        app: Any = self.app
        for row in app.works_now():
            if not row.action.startswith("pane("):
                yield f"{row.tooltip}", f"key {shown(row.keys)}", partial(app.call_later, app.action_press, row.id)
        for command in table():
            if command.writes and app.options.read_only:
                continue
            yield from self._of(app, command)

    def _of(self, app: Any, command: Command) -> Iterator[tuple[str, str, Callable[[], Any]]]:  # noqa: ANN401 - AgentsApp, whose import would be a cycle
        needed = [one for one in command.arguments if not one.is_optional]
        if not needed:
            yield command.name, command.summary, partial(app.order, command.name)
        elif len(needed) == 1 and needed[0].choices is not None and app.snapshot is not None:
            for choice in needed[0].choices(app.snapshot):
                yield f"{command.name} {choice}", command.summary, partial(app.order, command.name, (choice,))
        else:
            yield f"{command.usage} …", command.summary, partial(_ask, app, command)


def palette() -> CommandPalette:
    """Return the palette's screen."""
    return CommandPalette(providers=[Commands], placeholder="a command, an account, a key …")


def _ask(app: AgentsApp, command: Command) -> None:
    """Let the arguments be typed."""
    from oulipoly_tui.screens.command_line import ask  # noqa: PLC0415 - only when it is opened

    ask(app, command.name + " ")
