"""What this face has started, the latest first: the part of the linear face that shows the command log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oulipoly_tui.linear.talk import spell_out
from oulipoly_tui.view.frame.jobs import format_took

if TYPE_CHECKING:
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_engine.facade.terminals.command_log import RanCommand
    from oulipoly_tui.linear.talk import Talk

_AT_ONCE = 10


def latest(talk: Talk, _snapshot: Snapshot) -> Iterator[str]:
    """Yield a line for each of the last commands, and how many more there are."""
    found = talk.engine.command_log.list()
    yield from map(format_command, found[:_AT_ONCE])
    if len(found) > _AT_ONCE:
        yield f"{len(found) - _AT_ONCE} more."
    if not found:
        yield "Nothing was run yet. What runs of models were, the command trace tells."


def show_all(talk: Talk, _snapshot: Snapshot) -> None:
    """Say all of them."""
    for one in talk.engine.command_log.list():
        talk.quote(format_command(one))


def find(talk: Talk, _snapshot: Snapshot) -> None:
    """Say those that a word is in."""
    word = talk.ask("Word", "Type a word of a command, or of what it was run for.").strip().lower()
    found = [one for one in talk.engine.command_log.list() if word in f"{one.command} {one.action}".lower()]
    for one in found:
        talk.quote(format_command(one))
    if not found:
        talk.say("Nothing was run that fits.")


def format_command(one: RanCommand) -> str:
    """Return a command in a line."""
    took = "" if one.took_s is None else f" after {spell_out(format_took(one.took_s))}"
    how = (one.outcome or "runs").capitalize()
    action = f" For {one.action}." if one.action else ""
    return f"Command {one.number}. {one.at.astimezone():%H:%M:%S}. {how}{took}.{action} In {one.folder}. {one.command}"
