"""Terminals and CLIs without a runner for screen readers: listed, attached to, ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.columns import plain
from oulipoly_tui.linear.interactive import run_own_command
from oulipoly_tui.view import words

if TYPE_CHECKING:
    from datetime import datetime

    from oulipoly_engine.core.commands.command import Command
    from oulipoly_engine.facade.snapshot import Snapshot
    from oulipoly_engine.facade.terminals.terminals import Terminal
    from oulipoly_tui.linear.talk import Talk


def terminal_lines(talk: Talk, snapshot: Snapshot) -> Iterator[str]:
    """Yield a line a terminal."""
    found = talk.engine.terminals.list()
    yield from (line(one, snapshot.at) for one in found)
    if not found:
        yield "No terminals. The command terminal new starts one."


def line(one: Terminal, now: datetime) -> str:
    """Return a terminal in a line."""
    account = f" Account {one.account}." if one.account else ""
    title = f" Title {plain(one.title)}." if one.title else ""
    state = "Running" if one.exit_code is None else f"Ended with exit code {one.exit_code}"
    age = words.age(from_text(one.started_at), now)
    return f"Terminal {one.id}. {state}. Started {age}.{account} {plain(one.label)}.{title}"


def choose(talk: Talk, snapshot: Snapshot, _command: Command) -> Terminal | None:
    """Let a terminal be chosen."""
    terminals = talk.engine.terminals.list()
    return talk.choose_of("Terminal", terminals, lambda terminal: line(terminal, snapshot.at), "There is no terminal.")


def attach(talk: Talk, one: Terminal) -> None:
    """Show a terminal here until it ends or is left."""
    talk.say(f"The key {talk.engine.terminals.leave_key} leaves it; its program runs on.")
    run_own_command(talk, "terminal", "attach", *(("--read-only",) if talk.read_only else ()), one.id)


def kill(talk: Talk, one: Terminal) -> None:
    """End a terminal's program after a yes."""
    if talk.confirm(f"End {plain(one.label)} in terminal {one.id}?"):
        talk.engine.terminals.kill(one.id)
        talk.say("Ended.")


def end_run(talk: Talk, snapshot: Snapshot) -> None:
    """End a CLI whose runner was killed, after a yes."""
    empty = "No CLI runs without its runner."
    orphan = talk.choose_of("CLI", snapshot.orphans, lambda orphan: orphan.text, empty)
    if orphan is not None and talk.confirm(f"End it: {orphan.text}, with all that it does?"):
        ended = talk.engine.orphans.kill(orphan.uuid)
        talk.say(f"Process {ended.pid} of {ended.account} has ended.")
