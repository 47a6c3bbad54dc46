"""`chat`: a prompt and its answer, or a talk line by line, on a live session."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path, seconds
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION
from oulipoly_engine.cli.live.chat_output import Printer
from oulipoly_engine.cli.live.chat_turns import Turns
from oulipoly_engine.cli.live.turn_result import exit_code, result_json, tell_result
from oulipoly_engine.core.live.launch.cli_options import (
    THINKING_LEVELS,
    CliOptions,
    check_system_prompt,
    parse_thinking,
)
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS, PROFILES
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import InputHandled, RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import parent_invocation, require_person
from oulipoly_engine.facade.live.sessions import NewSession
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from argparse import Namespace

_TIMED_OUT = 124  # as of `timeout` and of our one-shots
_MORE = (
    "Words are the prompt; what is piped in goes behind them. With neither, at a terminal, it is a talk line by line: "
    "/help lists what else can be done there, Ctrl-C interrupts a turn, Ctrl-D ends it. -c goes on with the session."
)
_OF_BEGINNINGS = {  # options that only a new session can have
    "model": "--model",
    "provider": "--provider",
    "thinking": "--thinking",
    "tools": "--tools",
    "append_system_prompt": "--append-system-prompt",
    "profile": "--profile",
    "no_session": "--no-session",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Answer a prompt, or talk line by line."""
    options = _parser(context, name).parse(arguments)
    _refuse(options)
    context.add_extensions(options.extension, has_none=options.no_extensions)
    questions = Questions(is_agreed=False)
    if options.interactive and not questions.can_ask:
        raise UsageInvalid("--interactive needs a terminal: give a prompt instead, or pipe one in")
    prompt = _read_prompt(options)
    is_loop = options.interactive or (prompt is None and questions.can_ask and _may_loop(options))
    if prompt is None and not is_loop:
        raise UsageInvalid("no prompt: name one, pipe one in, or run it in a terminal without --print and --mode json")
    _ask_rights(context, options, questions if is_loop else None)
    with _session(context, options) as (session, why):
        if options.mode == "text" and not options.print:
            diagnostics.note(f"session {session.session_id[:8]} on {plain(session.runtime_id)}: {plain(why)}")
        if is_loop:
            from oulipoly_engine.cli.live.chat_loop import Loop  # noqa: PLC0415 - a script needs none of it

            code = Loop(context, questions, options.timeout).run(session, prompt)
        else:
            code = _answer(context, options, session, why, prompt or "")
    context.engine.extensions.close()
    context.engine.sessions.transcripts.finish_files()  # its session file is whole when the command ends
    return code


def _parser(context: Context, name: str) -> Parser:
    parser = Parser(prog=f"{context.program} {name}", command=name, more=_MORE)
    parser.add_argument("prompt", metavar="PROMPT", nargs="*", help="what to ask")
    where = parser.add_argument_group("where")
    where.add_argument("-m", "--model", metavar="NAME", help="a model's pool, or with --provider the CLI's own model")
    where.add_argument(
        "-p", "--provider", metavar="NAME", help="an account, a runtime, or a CLI: the best account of it"
    )
    where.add_argument(
        "-c", "--continue", dest="goes_on", action="store_true", help="go on with this folder's last one"
    )
    where.add_argument("--cwd", type=path, metavar="DIR", help="the folder that it works in (default: this one)")
    where.add_argument("--no-session", action="store_true", help="remove what was recorded of it when it ends")
    how = parser.add_argument_group("how")
    how.add_argument("--thinking", metavar="LEVEL", help=f"how hard to think: {', '.join(THINKING_LEVELS)}")
    how.add_argument("--tools", metavar="A,B", help="these of its CLI's tools and no others")
    how.add_argument("--append-system-prompt", type=path, metavar="FILE", help="put its text behind the CLI's own")
    how.add_argument("--profile", choices=PROFILES, help=f"what it may do unasked (default: {OF_NEW_SESSIONS})")
    how.add_argument(
        "-e", "--extension", action="append", default=[], type=path, metavar="PATH", help="use an extension"
    )
    how.add_argument("--allow", action="store_true", help="allow what these extensions ask for")
    how.add_argument("--no-extensions", action="store_true", help="leave out all extensions")
    how.add_argument("--timeout", type=seconds, metavar="SECONDS", help="interrupt a turn that takes longer")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("-i", "--interactive", action="store_true", help="talk line by line, also behind a prompt")
    shown.add_argument("--print", action="store_true", help="print the answer alone, when it is whole")
    shown.add_argument("--mode", choices=("text", "json"), default="text", help="json: one event a line")
    return parser


def _refuse(options: Namespace) -> None:
    """Refuse what does not go together."""
    if options.allow and not options.extension:
        raise UsageInvalid("--allow is for what --extension names: `ext enable NAME --allow` is for others")
    if options.interactive and (options.print or options.mode == "json"):
        other = "--print" if options.print else "--mode json"
        raise UsageInvalid(f"{other} is for one prompt: leave it out, or --interactive")
    if options.print and options.mode == "json":
        raise UsageInvalid("--mode json ends with the answer: leave out --print")
    given = next((word for name, word in _OF_BEGINNINGS.items() if options.goes_on and getattr(options, name)), "")
    if given:
        raise UsageInvalid(f"{given} is for a new session: leave it out, or --continue")


def _ask_rights(context: Context, options: Namespace, questions: Questions | None) -> None:
    """Have a person say what extensions may do that nobody was asked about yet. questions: None: nobody is there."""
    extensions = context.engine.extensions
    for status in extensions.list() if options.extension else ():
        if status.installed.source == "option" and status.installed.problem:
            raise UsageInvalid(f"the extension {status.installed.place} cannot be used: {status.installed.problem}")
    for status in extensions.questions():
        name = plain(status.installed.name)
        if options.allow and status.installed.source == "option":
            require_person("allow an extension anything")
            extensions.allow(status)
        elif questions is None:
            diagnostics.note(f"the extension {name} waits for your word: `agents ext enable {name}` asks")
        else:
            from oulipoly_engine.cli.base.extension_questions import ask  # noqa: PLC0415 - few chats have to ask

            (extensions.allow if ask(questions, status) else extensions.refuse)(status)


def _may_loop(options: Namespace) -> bool:
    return not options.print and options.mode == "text"


def _read_prompt(options: Namespace) -> str | None:
    """Return the words and behind them what is piped in; None: there is neither."""
    piped = "" if options.interactive else stdio.read_patiently(diagnostics.note)
    return "\n\n".join(part for part in (" ".join(options.prompt), piped) if part.strip()) or None


def _ask_cli(options: Namespace) -> CliOptions:
    tools = None if options.tools is None else tuple(name.strip() for name in options.tools.split(",") if name.strip())
    file = options.append_system_prompt
    return CliOptions(
        thinking=None if options.thinking is None else parse_thinking(options.thinking),
        system_prompt="" if file is None else check_system_prompt(stdio.read_prompt(file)),
        tools=tools,
        is_unkept=options.no_session,
    )


@contextmanager
def _session(context: Context, options: Namespace) -> Iterator[tuple[LiveSession, str]]:
    """Yield the session to talk to, and why it is on its account; afterwards one that is not to be kept is removed."""
    live = context.engine.live
    place = options.cwd or Path.cwd()
    if options.goes_on:
        yield live.find_latest(place), "it goes on"
        return
    session_id = str(uuid.uuid4())
    if options.no_session:
        live.note_unkept(session_id)
    wish = NewSession(
        place,
        session_id=session_id,
        model=options.model,
        provider=options.provider or "",
        asks=_ask_cli(options),
        profile=options.profile or OF_NEW_SESSIONS,
        parent=parent_invocation(),
    )
    begun = live.begin(wish)
    try:
        yield begun.session, begun.why
    finally:
        if options.no_session or not (live.turns(session_id) or live.queue(session_id)):
            try:
                live.forget(session_id)
            except RunnerError as error:
                diagnostics.note(f"Warning: {error.message}")


def _answer(context: Context, options: Namespace, session: LiveSession, why: str, prompt: str) -> int:
    """Print the answer to a prompt and return how its turn has ended."""
    is_json = options.mode == "json"
    about = {"schema_version": SCHEMA_VERSION, "session_id": session.session_id}
    if is_json:
        place = {"runtime_id": session.runtime_id, "account": session.account, "why": why}
        output.write_json({"type": "chat_started", **about, **place}, pretty=False)
    turns = Turns(context.engine.live, Printer("answer" if options.print else options.mode), options.timeout, None)
    try:
        result = turns.send(session.session_id, prompt)
    except RunnerError as error:
        if error.slug != InputHandled.slug or is_json:
            raise
        output.write_line(error.message)
        return 0
    if is_json:
        end = result_json(context.program, result, session)
        if options.no_session:
            end["next"] = None
        output.write_json({"type": "chat_ended", **about, **end, "timed_out": turns.is_timed_out}, pretty=False)
        code = exit_code(result)
    else:
        shown = replace(result, reply=None) if turns.is_answer_shown else result
        code = tell_result(context.program, shown, session, about, as_json=False, can_go_on=not options.no_session)
    return _TIMED_OUT if turns.is_timed_out else code
