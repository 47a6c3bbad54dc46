"""`agent prompt`: a prompt to an agent, its answer as a text, as JSON of a schema, or as events while it comes."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path, seconds
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION
from oulipoly_engine.errors import PromptMissing, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import parent_invocation

if TYPE_CHECKING:
    from oulipoly_engine.cli.live.chat_output import Form
    from oulipoly_engine.core.live.sessions import LiveSession


def add_prompt(parser: Parser) -> None:
    """Add the arguments behind --json."""
    parser.add_argument("name", metavar="NAME", help="the agent's name; or its id: eight characters are enough")
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what to ask; `-` or nothing: stdin")
    parser.add_argument("--session", default="", metavar="ID", help="go on with this session of the agent")
    parser.add_argument(
        "--regenerate",
        action="store_true",
        help="ask the last message of --session, or of the newest session, again: its answer is another branch",
    )
    parser.add_argument("--schema", type=path, metavar="FILE", help="the answer is JSON that this JSON Schema allows")
    parser.add_argument("--stream", action="store_true", help="print what happens, a line of JSON an event")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="interrupt a turn that takes longer")


def prompt(context: Context, options: Namespace) -> int:
    """Send a prompt and print what comes of it; the exit code is the turn's."""
    from oulipoly_engine.cli.live.chat_output import Printer  # noqa: PLC0415 - lists need none of it
    from oulipoly_engine.cli.live.chat_turns import Turns  # noqa: PLC0415 - the same
    from oulipoly_engine.cli.live.turn_result import exit_code, result_json, tell_result  # noqa: PLC0415 - the same

    _check(options)
    schema = None
    if options.schema is not None:
        from oulipoly_engine.facade.agents.answer_schema import check_answer, check_schema  # noqa: PLC0415 - as above

        schema = check_schema(stdio.read_prompt(options.schema).encode("utf-8", "replace"))
    session, text = _choose_session(context, options, schema)
    is_quiet = options.json or schema is not None
    form: Form = "answer" if is_quiet else "text"
    if options.stream:
        form = "events"
    work = context.engine.agents
    try:
        turns = Turns(context.engine.live, Printer(form), options.timeout, None)
        result = turns.send(session.session_id, text)
    finally:
        if not options.session:
            work.close_session(session.session_id)
        work.settle()
    code = exit_code(result)
    if options.stream:
        return code
    about = {"schema_version": SCHEMA_VERSION, "session_id": session.session_id}
    if schema is not None and code == 0:
        value = check_answer(result.reply or "", schema)
        output.write_json({**about, "value": value} if options.json else value)
        return 0
    if options.json:
        output.write_json({**about, **result_json(context.program, result, session)})
        return code
    if turns.is_answer_shown:
        return code
    return tell_result(context.program, result, session, about, as_json=False)


def _check(options: Namespace) -> None:
    if options.regenerate and (options.text or options.schema):
        raise UsageInvalid("--regenerate asks the last message again: no TEXT and no --schema go with it")
    if options.stream and (options.json or options.schema):
        raise UsageInvalid("--stream prints events: --json and --schema, which print one answer, do not go with it")


def _choose_session(context: Context, options: Namespace, schema: dict[str, Any] | None) -> tuple[LiveSession, str]:
    """Return the session that a prompt goes to, and its text."""
    from oulipoly_engine.facade.agents.work import ask_for_json  # noqa: PLC0415 - the same

    work = context.engine.agents
    if options.regenerate:
        session_id, text = work.go_back(options.name, options.session)
        return work.find_session(options.name, session_id), text
    text = " ".join(options.text)
    if text in ("", "-"):
        text = stdio.read_patiently(diagnostics.note)
    if not text.strip():
        raise PromptMissing("the prompt is empty: name a text, or pipe one in")
    if schema is not None:
        text = ask_for_json(text, schema)
    if options.session:
        return work.find_session(options.name, options.session), text
    return work.begin_session(options.name, has_tools=schema is None, parent=parent_invocation()), text
