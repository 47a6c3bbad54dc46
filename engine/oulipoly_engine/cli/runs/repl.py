"""`repl`, `--new` and `--resume` without a prompt: a CLI in the user's own terminal."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.resume_wiring import launcher, resumer
from oulipoly_engine.cli.runs.run import folder, parent
from oulipoly_engine.cli.wiring import keep_after_scan, told
from oulipoly_engine.config import load
from oulipoly_engine.core.accounts import arguments as compose
from oulipoly_engine.core.accounts.accounts import Model
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.process.passthrough import require_terminal
from oulipoly_engine.process.signals import Guard, interruptible
from oulipoly_engine.records import Record
from oulipoly_engine.service.interactive.interactive import Launcher
from oulipoly_engine.service.runs.invoke import Chosen
from oulipoly_engine.service.runs.resume import Resumer, Wish, chosen
from oulipoly_engine.store.base.db import Store, open_store

DETACHED_SIZE = (120, 40)  # columns and rows until somebody attaches


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the `repl` command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Talk to a CLI in this terminal: in a new session on a pool's best account, or in an old one.",
    )
    parser.add_argument("model", nargs="?", metavar="MODEL", help="whose pool serves")
    parser.add_argument("-m", "--model", dest="named", metavar="MODEL", help="the same")
    parser.add_argument("--resume", metavar="ID", help="go on with a session; the beginning of its id is enough")
    parser.add_argument("--to", metavar="ACCOUNT", help="with --resume: move the session to that account first")
    parser.add_argument(
        "--fork", action="store_true", help="with --resume: in a new session that begins with the old one's past"
    )
    parser.add_argument("-p", "--project", type=Path, help="working directory of the CLI")
    parser.add_argument(
        "--detach", action="store_true", help="start it in a terminal of its own and print that one's id (see `attach`)"
    )
    parser.add_argument("--new", action="store_true", help="a new session on the default account, instead of MODEL")
    parser.add_argument("--models-dir", type=Path, default=context.models_dir, help="folder of model files")
    options = parser.parse(arguments)
    if options.model and options.named and options.model != options.named:
        message = f"two models are named, {options.model!r} and {options.named!r}: name one"
        raise UsageInvalid(message)
    model = options.named or options.model
    context = Context(context.program, context.paths, context.clock, options.models_dir, context.agents_dir)
    if options.new and (model is not None or options.resume is not None):
        message = "--new opens a session on the default account: it takes neither a model nor --resume"
        raise UsageInvalid(message)
    if options.resume is not None:
        way = _Way(is_detached=options.detach)
        wish = Wish(options.resume, model, _project(options.project), options.to, is_fork=options.fork)
        return _resume(context, wish, way)
    if options.fork:
        message = "--fork copies a session's past, so it needs --resume"
        raise UsageInvalid(message)
    if options.to is not None:
        message = "--to moves a session, so it needs --resume"
        raise UsageInvalid(message)
    way = _Way(is_detached=options.detach)
    if options.new:
        return new(context, options.project, way=way)
    if model is None:
        message = f"model required: say `{parser.prog} MODEL`, or `{parser.prog} --resume ID`"
        raise RequestRefused(message)
    return _open(context, options.project, lambda starts, guard: starts.from_pool(_model(context, model), guard), way)


class _Way(Record):
    """Where the CLI is shown: in this terminal, or in one of its own that somebody may attach to."""

    is_detached: bool = False

    def check(self) -> None:
        """Refuse at once when there is no terminal to show it on."""
        if not self.is_detached:
            require_terminal()

    def go(
        self, context: Context, starts: Launcher, choose: Callable[[Guard], Chosen], place: Callable[[], Path]
    ) -> int:
        """Start what is chosen; returns the CLI's exit code, 0 when it runs on by itself."""
        if not self.is_detached:
            code = starts.launch(choose, place, parent())
            keep_after_scan(context, starts.store)
            return code
        from oulipoly_engine.service.interactive import detached  # noqa: PLC0415 - 20 ms, only --detach needs it
        from oulipoly_engine.service.runs import orphans  # noqa: PLC0415 - 20 ms, only --detach needs it

        with interruptible() as guard:
            orphans.close_lost(starts.store, context.clock)
            chosen = choose(guard)
            folder = place()
            guard.check()
            terminal = detached.start(starts, context.paths, chosen, folder, DETACHED_SIZE, parent())
        output.write_line(terminal.id)
        return 0


_HERE = _Way()


def new(context: Context, project: Path | None, *, way: _Way = _HERE) -> int:
    """Open a new session on the default account."""
    return _open(context, project, lambda starts, _guard: starts.alone(_default_account(context)), way)


def resume(
    context: Context,
    session: str,
    model: str | None,
    project: Path | None,
    to_account: str | None = None,
    *,
    way: _Way = _HERE,
) -> int:
    """Go on with a session."""
    return _resume(context, Wish(session, model, _project(project), to_account), way)


def _resume(context: Context, wish: Wish, way: _Way) -> int:
    way.check()
    store = open_store(context.paths.state_db)
    try:
        accounts, settings = told(load.load_accounts(context.paths)), told(load.load_settings(context.paths))
        starts = launcher(context, store, accounts, settings)
        going_on = _GoingOn(resumer(context, store, accounts, settings), wish)
        return way.go(context, starts, going_on.choose, going_on.folder)
    finally:
        store.close()


class _GoingOn:
    """A session on its way to the terminal."""

    def __init__(self, sessions: Resumer, wish: Wish) -> None:
        self._sessions = sessions
        self._wish = wish
        self._folder = Path()

    def choose(self, guard: Guard) -> Chosen:
        """Settle where the session lies and who has it."""
        guard.arm()
        settled = self._sessions.settle(self._wish, folder(self._wish.project))
        guard.disarm()
        account = self._sessions.account(settled.session.account)
        compose.interactive(account)  # refuses an account that cannot be talked to before it is announced
        self._folder = settled.working_directory
        return chosen(self._sessions, settled)

    def folder(self) -> Path:
        """Return the folder in which the CLI works."""
        return self._folder


def _project(named: Path | None) -> Path | None:
    return None if named is None else folder(named)


def _open(context: Context, project: Path | None, choose: Callable[[Launcher, Guard], Chosen], way: _Way) -> int:
    way.check()
    place = folder(project)
    store: Store = open_store(context.paths.state_db)
    try:
        accounts, settings = told(load.load_accounts(context.paths)), told(load.load_settings(context.paths))
        starts = launcher(context, store, accounts, settings)
        return way.go(context, starts, partial(choose, starts), lambda: place)
    finally:
        store.close()


def _model(context: Context, name: str) -> Model:
    return told(load.load_model(context.paths, name, context.models_dir))


def _default_account(context: Context) -> str:
    name = load.load_settings(context.paths).value.default_provider
    if name is None:
        message = (
            f'--new needs to know the account: put `default_provider = "ACCOUNT"` into {context.paths.settings}, or '
            f"say `{context.program} repl MODEL`"
        )
        raise RequestRefused(message)
    return name
