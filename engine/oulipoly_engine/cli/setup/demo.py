"""`demo`: a throw-away world of made-up accounts, and any of our commands run inside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from oulipoly_demo import world
from oulipoly_demo.past import agents, state
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import inherited_environment, replace_process
from oulipoly_engine.paths import from_environment


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Build the demo world and print what to try, or run one of our commands inside it."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="A throw-away world: two vendors, five accounts, answers made up on the spot. "
        "Your own configuration, accounts and sessions are never touched.",
        usage=f"{context.program} {name} [--root DIR] [--reset | --remove | --path | --shell] [-- ARGS...]",
    )
    parser.add_argument(
        "--root", type=path, metavar="DIR", help="where the world lies (default: a private temporary folder)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--reset", action="store_true", help="build it afresh")
    what.add_argument("--remove", action="store_true", help="delete it")
    what.add_argument("--path", action="store_true", help="print where it lies")
    what.add_argument("--shell", action="store_true", help="open a shell in it: `agents` is then the demo's")
    own, inside = _split(arguments)
    options = parser.parse(own)
    environ = inherited_environment()
    root = options.root.absolute() if options.root else world.default_root(environ)
    if options.remove or options.reset:
        _end_terminals(root, environ)
    if options.remove:
        there = world.remove(root)
        output.write_line(f"removed {root}" if there else f"there is no demo world at {root}")
        return 0
    if options.reset:
        world.reset(root)
    with _steps() as tell:
        tell("making the accounts")
        built = world.ensure(root)
        making = agents.begin(built)
        state.ensure(built, tell=tell)
        if making is not None:
            tell("running two agents")
            making.join()
    if options.path:
        output.write_line(str(built.root))
        return 0
    if options.shell:
        diagnostics.note("[demo] a shell in the demo world: `agents` sees made-up accounts alone; exit leaves it")
        env = world.environment_for(built, environ)
        env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), env["PATH"]))
        os.chdir(built.project)
        return replace_process((environ.get("SHELL") or "/bin/sh",), env)
    if inside is None:
        output.write_block(world.instructions(built, context.command, environ))
        return 0
    diagnostics.note("[demo] made-up accounts and answers; your own configuration is not used")
    return replace_process((sys.executable, "-m", "oulipoly_tui", *inside), world.environment_for(built, environ))


def _end_terminals(root: Path, environ: Mapping[str, str]) -> None:
    """End what runs in a world that is about to be deleted; nobody could reach it after that."""
    found = world.find(root)
    if found is None:
        return
    engine = Context(paths=from_environment(world.environment_for(found, environ))).engine
    for session in engine.live.end_all():
        output.write_line(f"ended live session {session}")
    terminals = engine.terminals
    survey = terminals.survey()
    for one in (*survey.living, *survey.orphaned):
        try:
            terminals.kill(one.id, orphaned=True)
        except RunnerError as error:
            diagnostics.note(f"Note: {error.message}")
        else:
            output.write_line(f"ended {one.label} in terminal {one.id}")
    terminals.wait_for_hosts(survey.living)  # one that still writes would make the world's folder anew


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Show each step's name in one line of the terminal, wiped at the end; nothing where stderr is not a terminal."""
    if not diagnostics.is_terminal():
        yield lambda _step: None
        return
    try:
        yield lambda step: diagnostics.show_progress(f"building the demo world: {step} …")
    finally:
        diagnostics.show_progress("")


def _split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]
