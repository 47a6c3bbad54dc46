"""The user's own commands: as actions like all others, and what one would run on a row."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.command import Command
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record, replace
from oulipoly_tui.actions.action import FRAME, Action

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand

_LONGEST_LABEL, _LONGEST_LINE = 24, 100  # characters
_SYNONYMS = ("custom command", "own command")
_PANES = {"terminals": "repl"}  # what a pane is called where that is not its id


class Prepared(Record):
    """A command as it would run on a row."""

    words: tuple[str, ...]
    folder: Path | None  # where; None: in ours
    lines: tuple[str, ...]  # what a question shows of it, hidden characters visible


def make_actions(commands: Sequence[CustomCommand], keys: Sequence[str]) -> tuple[Action, ...]:
    """Return the actions of some commands: one for each of its panes, or one for all of them.

    keys: those of each command by comma, by Textual's names.
    """
    return tuple(action for one, own in zip(commands, keys, strict=True) for action in _make(one, own))


def custom_id(command: CustomCommand) -> str:
    """Return what tells a command's action from others; of several panes, each adds its own name."""
    return f"commands.{command.name}"


def find_missing(command: CustomCommand, values: Mapping[str, str]) -> str | None:
    """Say what a command needs and a row does not have; None: it has all of it."""
    missing = next((name for name in command.placeholders if name not in values), None)
    return None if missing is None else f"{command.name} needs a {missing}, and this row has none"


def prepare(command: CustomCommand, values: Mapping[str, str]) -> Prepared:
    """Return what a command would run on a row with these values, by the names of placeholders.

    Raises RequestRefused where the row does not have what it needs, or its folder is gone.
    """
    import shlex  # noqa: PLC0415 - only where there is a command

    from oulipoly_engine.core.text.control_characters import visible_line  # noqa: PLC0415 - as above
    from oulipoly_engine.facade.configuration import fill  # noqa: PLC0415 - as above

    missing = find_missing(command, values)
    if missing is not None:
        raise RequestRefused(missing)
    try:
        words = fill(command.words, values)
    except ValueError as error:
        message = f"{command.name}: {error}"
        raise RequestRefused(message) from error
    cwd = values.get("cwd")
    if cwd is not None and not os.path.isdir(cwd):  # noqa: PTH112 - it raises nothing
        message = f"{command.name}: the folder of this row is gone, {cwd}: nothing was run"
        raise RequestRefused(message)
    told = [shlex.join(words)] if cwd is None else [shlex.join(words), f"in {cwd}"]
    # A title with a line break or hidden characters must not look like another command, or another folder.
    return Prepared(words, None if cwd is None else Path(cwd), tuple(map(visible_line, told)))


def _make(command: CustomCommand, keys: str) -> Iterator[Action]:
    import shlex  # noqa: PLC0415 - only where there is a command

    line = shlex.join(command.words)
    summary = f"{command.name}: {line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + '…'}"
    first = Action(
        custom_id(command),
        Command("", command.name[:_LONGEST_LABEL], summary, synonyms=_SYNONYMS, writes=True),
        FRAME,
        keys=keys,
        line=command.name,
        custom=command,
    )
    if not command.panes:
        yield first
    for pane in dict.fromkeys(command.panes):
        where = _PANES.get(pane, pane)
        yield replace(first, id=first.id if len(command.panes) == 1 else f"{first.id} in {pane}", where=where)
