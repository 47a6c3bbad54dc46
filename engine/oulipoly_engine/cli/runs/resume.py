"""`resume`, and `--resume` with a prompt: a session gets an answer, without a screen."""

from __future__ import annotations

from argparse import SUPPRESS, Namespace

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import AT_END, Parser, path, raw, seconds
from oulipoly_engine.cli.runs.run import Terminal, conclude, folder
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs import markers
from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.sessions.resolve import full_id
from oulipoly_engine.errors import PromptMissing, RequestRefused, SessionAmbiguous, SessionNotFound
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import parent_invocation
from oulipoly_engine.facade.runs.interactive import ResumeRequest
from oulipoly_engine.facade.runs.one_shots import DispatchFailed, OneShotRunner

_RECENT = 3


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the `resume` command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Give a session an answer and pass on what its CLI says. The answer may come on stdin.",
    )
    parser.add_argument(
        "words", nargs="*", type=raw, metavar="[ID] ANSWER...", help="the beginning of an id, and the answer"
    )
    parser.add_argument("--session-id", dest="resume", metavar="ID", help="the session, by its whole id")
    parser.add_argument("-m", "--model", help="default: the one that the session was last run with")
    parser.add_argument("-f", "--file", type=path, metavar="ANSWER.md", help="read the answer from a file")
    parser.add_argument("--prompt", type=raw, metavar="TEXT", help="the answer itself")
    parser.add_argument("--account", metavar="ACCOUNT", help="move the session to that account first")
    parser.add_argument("--at-end", action="store_true", help=AT_END)
    parser.add_argument("-p", "--project", type=path, metavar="DIR", help="working directory of the CLI")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="stop the CLI after so long")
    parser.add_argument("--result-on-stderr", action="store_true", help="put the OULIPOLY_RESULT line on stderr")
    parser.add_argument(
        "--models-dir", type=path, metavar="DIR", default=context.models_dir, help="folder of model files"
    )
    parser.add_argument("--list", metavar="ID", help=SUPPRESS)
    parser.accept_older("--to", "--account")
    options = parser.parse(arguments)
    if options.list is not None:
        return _list(context, options.list)
    options.is_exact = options.resume is not None
    if options.is_exact:
        options.resume = full_id(options.resume)
    elif options.words:
        options.resume, *options.words = options.words
    if options.resume is None:
        parser.error("--session-id is missing: say which session goes on")
    if sum((options.file is not None, options.prompt is not None, bool(options.words))) > 1:
        parser.error("--file, --prompt and the words behind the id are several answers: give one")
    if options.prompt is not None:
        options.words = [options.prompt]
    return resume(context.with_models(options.models_dir), options)


def resume(context: Context, options: Namespace) -> int:
    """Give a session an answer and return its CLI's exit code."""
    text = _answer(options)
    try:
        with context.engine.one_shots.open(Terminal()) as runner:
            return _resume(context, options, runner, text)
    except DispatchFailed as error:
        output.write_line(markers.failure_line(error.failure))
        raise


def _resume(context: Context, options: Namespace, runner: OneShotRunner, text: str) -> int:
    project = None if options.project is None else folder(options.project)
    is_exact = getattr(options, "is_exact", False)
    wish = ResumeRequest(
        options.resume,
        options.model,
        project,
        getattr(options, "account", None),
        is_exact=is_exact,
        at_end=getattr(options, "at_end", False),
    )
    invoked = runner.resume(
        wish, text, folder(project), parent_invocation(), options.timeout, is_shown=diagnostics.is_terminal()
    )
    if invoked.result.error_category == Category.RESUME_SESSION_MISMATCH.value:
        _tell_kept_copy(context, runner)
    code = conclude(invoked, to_stderr=options.result_on_stderr)
    runner.follow_up(invoked)
    return code


def _tell_kept_copy(context: Context, runner: OneShotRunner) -> None:
    """Say how a session comes back that its CLI has deleted, if the archive has it."""
    copy = runner.kept_copy()
    if copy is not None:
        diagnostics.note(
            f"[resume] its CLI has deleted {copy.path}, of which a copy is kept: "
            f"`{context.program} session archive --restore {copy.session_id}` restores it"
        )


def _answer(options: Namespace) -> str:
    """Return what the session is told. Raises PromptMissing."""
    if options.file is not None:
        text = stdio.read_prompt(options.file)
        source = f"the answer file {options.file} is empty"
    elif options.words:
        text = " ".join(options.words)
        source = "the answer is empty"
    else:
        text = stdio.read_piped_text()
        source = "there is no answer payload"
    if not text.strip():
        raise PromptMissing(f"{source}: give one with -f FILE, --prompt TEXT or on stdin")
    return text


def _list(context: Context, text: str) -> int:
    """Print one line about each chain that an id may mean."""
    try:
        found = context.engine.one_shots.sessions_meant(text)
    except (SessionNotFound, SessionAmbiguous) as error:
        raise RequestRefused(error.message) from error
    for chain in found:
        active = chain.active
        output.write_line(
            f"chain_id={chain.chain_id} last_used_at={to_text(chain.last_used_at)}"
            f" active_provider={active.account if active else '-'}"
            f" active_session_id={active.session_id if active else '-'}"
            f" turn_count={chain.entries} recent_turns_count={min(_RECENT, chain.entries)}"
        )
    return 0
