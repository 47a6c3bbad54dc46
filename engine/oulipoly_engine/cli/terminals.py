"""`terminal new`, `list`, `attach`, `kill`: programs that live in terminals of their own, whoever comes and goes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from oulipoly_engine import variables
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.core.text.quantities import duration
from oulipoly_engine.errors import InvocationNotFound, RequestRefused, TerminalNotFound
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_terminal, window_size
from oulipoly_engine.facade.terminals.terminals import (
    Survey,
    Terminal,
    is_own,
    orphan_text,
    show,
    signal_number,
    to_json,
)

_HEADINGS = ("ID", "STATE", "AGE", "PID", "COMMAND", "TITLE")
DETACHED_SIZE = (120, 40)  # columns and rows until somebody attaches


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve the command of that name."""
    commands = {
        "terminal new": _start,
        "terminal list": _list,
        "terminal attach": _attach,
        "terminal kill": _kill,
    }
    return commands[name](context, f"{context.program} {name}", arguments)


def attach(context: Context, terminal: Terminal, *, only_reads: bool = False) -> int:
    """Show a terminal here until it ends or the user leaves, and return the program's exit code, or 0."""
    require_terminal()
    hosts = context.engine.terminals
    key = hosts.leave_key
    left = show(hosts.socket(terminal), terminal, key, output.write_bytes, name="attach", only_reads=only_reads)
    if left.problem is not None:
        diagnostics.note(f"Error: {left.problem}")
        return 1
    if left.exited is None:
        from oulipoly_demo import world  # noqa: PLC0415 - only for a farewell

        way = f"{context.program} {world.way_in()}terminal attach {terminal.id}"
        diagnostics.note(f"[left {terminal.id}: `{way}` brings it back]")
        if left.dropped:
            diagnostics.note(f"[what was typed after {key} in one go ({left.dropped} bytes) went nowhere]")
        return 0
    if left.last_lines:
        output.write_lines(left.last_lines)
    diagnostics.note(f"[{terminal.id} ended: {describe_end(left.exited.code, left.exited.signal)}]")
    return left.exited.code


def _list(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="List the terminals that live, and those that ended and were not seen.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    found = context.engine.terminals.survey()
    _say_lost(context, found)
    for orphan in context.engine.orphans.list():
        diagnostics.note(f"[{orphan.text}; {orphan.remedy}]")
    if options.json:
        output.write_json({"terminals": [to_json(one) for one in found.living]})
    elif not found.living:
        output.write_line(f"no terminals: `{context.program} terminal new --detach -- CMD` starts one")
    else:
        _table(found.living, context.clock.now())
    return 0


def _attach(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Show a terminal here. One key leaves it; its program runs on.")
    parser.add_argument("id", metavar="TERMINAL", help="its id, or the beginning of it")
    parser.add_argument("--read-only", action="store_true", help="type nothing into it, and leave its size to others")
    options = parser.parse(arguments)
    require_terminal()
    found = context.engine.terminals.find(options.id)
    if is_own(found):
        # A tmux server that was started in there keeps the variable wherever it is shown later.
        why = "shown inside itself it would have itself to draw, without an end"
        message = f"this is terminal {found.id}: {why}; if you are elsewhere by now, unset {variables.TERMINAL}"
        raise RequestRefused(message)
    return attach(context, found, only_reads=options.read_only)


def _kill(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=prog,
        description="End a terminal's program: HUP, and KILL if it stays. Or a CLI whose runner was killed: INT, TERM, "
        "KILL.",
    )
    parser.add_argument("id", metavar="TERMINAL", help="its id, or that of a run; the beginning is enough")
    parser.add_argument("--signal", metavar="NAME", help="send only this signal: TERM, INT, USR1, 15 ...")
    options = parse_agreed(parser, "terminal kill", arguments)
    number = None
    if options.signal is not None:
        number = signal_number(options.signal)
        if number is None:
            parser.error(f"there is no signal {options.signal!r}: give a name such as TERM, or its number")
    try:
        killed = context.engine.terminals.kill(options.id, number, orphaned=True)
    except TerminalNotFound:
        if number is not None:
            raise
        return _kill_orphan(context, options.id)
    terminal, ended = killed.terminal, killed.exited
    if ended is None:
        output.write_line(f"sent {options.signal} to {terminal.id} (process {terminal.pid}); it runs on")
    else:
        output.write_line(f"{terminal.id} ended: {describe_end(ended.code, ended.signal)}")
    return 0


def _kill_orphan(context: Context, identity: str) -> int:
    """End a CLI whose runner was killed; where there is none either, the error tells of the terminal."""
    try:
        orphan = context.engine.orphans.kill(identity)
    except InvocationNotFound:
        way = f"`{context.program} terminal list` lists both"
        raise TerminalNotFound(f"there is no terminal {identity!r}, and no CLI without a runner: {way}") from None
    output.write_line(f"process {orphan.pid} of {orphan.account} ended")
    return 0


def _start(context: Context, prog: str, arguments: list[str]) -> int:
    """Start a command; the app's pane shows it where there is one and `--plain` does not ask otherwise."""
    parser = Parser(
        prog=prog,
        description="Run any command in a terminal of its own, which outlives this one.",
        usage=f"{prog} [--detach | --plain] [--size COLUMNSxROWS] [-p DIR] -- CMD [ARGS...]",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--detach", action="store_true", help="start it, print its id, and do not show it")
    how.add_argument("--plain", action="store_true", help="show it without a pane around it, as `terminal attach` does")
    parser.add_argument("--size", type=_size, metavar="COLUMNSxROWS", help="of a detached one, until it is shown")
    parser.add_argument("-p", "--project", type=path, metavar="DIR", help="working directory of the command")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse(arguments[:at])
    argv = tuple(arguments[at + 1 :])
    if not argv:
        parser.error("no command: put it after `--`")
    if not options.detach:
        require_terminal()
    pane = None if options.detach or options.plain else context.pane
    columns, rows = options.size or (DETACHED_SIZE if options.detach else window_size())
    size = columns, max(1, rows - (0 if pane is None else pane.lines_kept))
    key = "" if pane is None else context.engine.terminals.leave_key  # read before the program is on its way
    terminal = context.engine.new_terminals.run(argv, size, options.project or Path.cwd()).terminal
    if options.detach:
        output.write_line(terminal.id)
        return 0
    if pane is None:
        return attach(context, terminal)
    shown = pane.show(context.engine.terminals.socket(terminal), terminal, key)
    if shown.last_lines:
        output.write_lines(shown.last_lines)
    if shown.farewell:
        diagnostics.note(f"[{shown.farewell}]")
    return shown.exit_code


def _say_lost(context: Context, found: Survey) -> None:
    for lost in found.lost:
        diagnostics.note(f"[terminal {lost.id} is gone: its host was killed, and {lost.label} has ended]")
    for left in found.orphaned:
        diagnostics.note(f"[{orphan_text(left)}: {left.label}; `{context.program} terminal kill {left.id}` ends it]")
    if found.stale_sockets:
        diagnostics.note(f"[{found.stale_sockets} stale socket(s) of dead hosts removed]")


def _table(found: Sequence[Terminal], now: datetime) -> None:
    output.write_lines(table([_HEADINGS, *(_row(terminal, now) for terminal in found)]))


def _row(terminal: Terminal, now: datetime) -> tuple[str, ...]:
    state = "running" if terminal.exit_code is None else f"ended {terminal.exit_code}"
    who = f"{terminal.account}: " if terminal.account else ""
    label = who + terminal.label
    return (
        terminal.id,
        state,
        duration(now - from_text(terminal.started_at)),
        str(terminal.pid),
        label if len(label) <= 40 else label[:39] + "…",
        terminal.title[:40],
    )


def describe_end(code: int, number: int | None) -> str:
    """Say how a program ended."""
    return f"exit code {code}" if number is None else f"killed by signal {number}"


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal() and 2 <= int(columns) <= 1000 and 1 <= int(rows) <= 500):
        raise argparse.ArgumentTypeError(f"not a size such as 120x40 (at most 1000x500): {text!r}")
    return int(columns), int(rows)
