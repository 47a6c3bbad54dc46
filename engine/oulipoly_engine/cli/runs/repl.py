"""`repl`, `--new` and `--resume` without a prompt: a CLI in the user's own terminal."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import AT_END, Parser, path
from oulipoly_engine.cli.runs.run import folder
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import interruptible, parent_invocation, require_terminal
from oulipoly_engine.facade.runs.interactive import InteractiveRequest, ResumeRequest

DETACHED_SIZE = (120, 40)  # columns and rows until somebody attaches


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the `repl` command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Talk to a CLI in this terminal: in a new session on a pool's best account, or in an old one.",
    )
    parser.add_argument("model", nargs="?", metavar="MODEL", help="the model; its pool's best account serves")
    parser.add_argument("-m", "--model", dest="named", metavar="MODEL", help="the same as MODEL")
    parser.add_argument("--resume", metavar="ID", help="go on with a session; the beginning of its id is enough")
    parser.add_argument("--account", metavar="ACCOUNT", help="with --resume: move the session to that account first")
    parser.add_argument(
        "--fork", action="store_true", help="with --resume: in a new session that begins with the old one's past"
    )
    parser.add_argument("--at-end", action="store_true", help=f"with --resume: {AT_END}")
    parser.add_argument("-p", "--project", type=path, metavar="DIR", help="working directory of the CLI")
    parser.add_argument(
        "--detach",
        action="store_true",
        help="start it in a terminal of its own and print that one's id (see `terminal attach`)",
    )
    parser.add_argument("--new", action="store_true", help="a new session on the default account, instead of MODEL")
    parser.add_argument(
        "--models-dir", type=path, metavar="DIR", default=context.models_dir, help="folder of model files"
    )
    parser.accept_older("--to", "--account")
    options = parser.parse(arguments)
    if options.model and options.named and options.model != options.named:
        raise UsageInvalid(f"two models are named, {options.model!r} and {options.named!r}: name one")
    model = options.named or options.model
    context = context.with_models(options.models_dir)
    if options.new and (model is not None or options.resume is not None):
        raise UsageInvalid("--new opens a session on the default account: it takes neither a model nor --resume")
    if options.resume is not None:
        place = _project(options.project)
        wish = ResumeRequest(options.resume, model, place, options.account, is_fork=options.fork, at_end=options.at_end)
        return _resume(context, wish, is_detached=options.detach)
    if options.fork:
        raise UsageInvalid("--fork copies a session's past, so it needs --resume")
    if options.account is not None:
        raise UsageInvalid("--account moves a session, so it needs --resume")
    if options.new:
        return new(context, options.project, is_detached=options.detach)
    if model is None:
        raise RequestRefused(f"model required: say `{parser.prog} MODEL`, or `{parser.prog} --resume ID`")
    _check(is_detached=options.detach)
    return _go(context, _request(folder(options.project), model=model), is_detached=options.detach)


def new(context: Context, project: Path | None, *, is_detached: bool = False) -> int:
    """Open a new session on the default account."""
    _check(is_detached=is_detached)
    place = folder(project)
    account = context.engine.interactive.default_account()
    if account is None:
        raise RequestRefused(
            f'--new needs to know the account: put `default_provider = "ACCOUNT"` into {context.paths.settings}, or '
            f"say `{context.program} repl MODEL`"
        )
    return _go(context, _request(place, account=account), is_detached=is_detached)


def resume(context: Context, session: str, model: str | None, project: Path | None, *, at_end: bool = False) -> int:
    """Go on with a session. at_end: behind its CLI's last message, wherever it goes on else."""
    return _resume(context, ResumeRequest(session, model, _project(project), at_end=at_end), is_detached=False)


def _resume(context: Context, wish: ResumeRequest, *, is_detached: bool) -> int:
    _check(is_detached=is_detached)
    return _go(context, _request(folder(wish.project), wish=wish), is_detached=is_detached)


def _check(*, is_detached: bool) -> None:
    """Refuse at once when there is no terminal to show it on."""
    if not is_detached:
        require_terminal()


def _request(
    place: Path, *, model: str | None = None, account: str | None = None, wish: ResumeRequest | None = None
) -> InteractiveRequest:
    return InteractiveRequest(place, model, account, wish, parent_invocation(), is_shown=diagnostics.is_terminal())


def _go(context: Context, request: InteractiveRequest, *, is_detached: bool) -> int:
    """Start the CLI; returns its exit code, 0 when it runs on by itself."""
    if not is_detached:
        return context.engine.interactive.attend(request)
    with interruptible() as guard:
        started = context.engine.interactive.detach(request, DETACHED_SIZE, guard)
    output.write_line(started.terminal.id)
    return 0


def _project(named: Path | None) -> Path | None:
    return None if named is None else folder(named)
