"""The user's own commands as actions: with keys, in menu, help, palette and on the line like all others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.records import replace
from oulipoly_tui.actions.action import FRAME, Action, Command

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import CustomCommand

_LONGEST_LABEL, _LONGEST_LINE = 24, 100  # characters
_PANES = {"terminals": "repl"}  # what a pane is called where that is not its id


def make_actions(commands: Sequence[CustomCommand], keys: Sequence[str]) -> tuple[Action, ...]:
    """Return the actions of some commands: one for each of its panes, or one for all of them.

    keys: those of each command by comma, by Textual's names.
    """
    return tuple(action for one, own in zip(commands, keys, strict=True) for action in _make(one, own))


def custom_id(command: CustomCommand) -> str:
    """Return what tells a command's action from others; of several panes, each adds its own name."""
    return f"commands.{command.name}"


def _make(command: CustomCommand, keys: str) -> Iterator[Action]:
    import shlex  # noqa: PLC0415 - only where there is a command

    line = shlex.join(command.words)
    first = Action(
        custom_id(command),
        command.name[:_LONGEST_LABEL],
        f"{command.name}: {line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + '…'}",
        FRAME,
        ("custom command", "own command"),
        keys=keys,
        command=Command(command.name, ""),
        writes=True,
        custom=command,
    )
    if not command.panes:
        yield first
    for pane in dict.fromkeys(command.panes):
        where = _PANES.get(pane, pane)
        yield replace(first, id=first.id if len(command.panes) == 1 else f"{first.id} in {pane}", where=where)
