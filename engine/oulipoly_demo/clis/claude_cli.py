"""The Claude-like face: `-p` with text, JSON or stream-JSON output, sessions that resume and fork.

Source: Claude Code 2.1.197, seen 2026-11; texts, streams and exit codes are its own.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from oulipoly_demo.base import claude_files, ids, streams, turn
from oulipoly_demo.base.claude_files import ClaudeConversation
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.base.options import STYLE_OPTIONS, OptionWrong, Parsed, Style, Syntax, parse, style_of
from oulipoly_demo.base.turn import Outcome
from oulipoly_demo.live.claude_lines import init_line, model_usage, rate_limit, result_line
from oulipoly_demo.quota.levels import Tokens

SYNTAX = Syntax(
    vendor="claude",
    valued=STYLE_OPTIONS
    | {"--model", "--output-format", "--input-format", "--session-id", "--resume", "--permission-mode", "--settings"}
    | {"--append-system-prompt", "--system-prompt", "--max-turns", "--fallback-model", "--permission-prompt-tool"}
    | {"--effort", "--resume-session-at", "--thinking"},
    flags=frozenset(
        {"--print", "--verbose", "--fork-session", "--dangerously-skip-permissions", "--version", "--help"}
        | {"--include-partial-messages", "--replay-user-messages", "--no-session-persistence", "--acp"}
    ),
    variadic=frozenset({"--allowedTools", "--disallowedTools", "--tools", "--add-dir", "--mcp-config"}),
    short=(("-p", "--print"), ("-r", "--resume"), ("-v", "--version"), ("-h", "--help")),
)
_FORMATS = ("text", "json", "stream-json")
_HELP = """Usage: {name} [options] [prompt]

A demo: an agent CLI with made-up answers. No model is asked, nothing leaves this machine.

  -p, --print             answer the prompt (argument or stdin) and exit
  --model NAME            opus, sonnet or haiku: what an answer costs
  --output-format FORMAT  text, json or stream-json (with --verbose)
  --session-id UUID       use this id for the new session
  -r, --resume UUID       go on with a session of this directory
  --fork-session          with --resume: under a new id
  --acp                   speak the Agent Client Protocol
  --tone, --lines, --topic, --temperature, --emoji, --title   how the answer sounds
  auth status             say who is logged in"""


def run(argv: Sequence[str], context: CliContext) -> int:
    """Run one command line; returns the exit code."""
    if list(argv[:2]) == ["auth", "status"]:
        streams.say(json.dumps({"loggedIn": True, "authMethod": "demo", "email": f"{context.account}@demo.invalid"}))
        return 0
    try:
        options = parse(argv, SYNTAX)
        style = style_of(options, "claude")
        return _dispatch(options, style, context)
    except OptionWrong as error:
        streams.complain(str(error))
        return 1


def _dispatch(options: Parsed, style: Style, context: CliContext) -> int:
    if options.has("--version"):
        streams.say(f"{VERSION} (Demo Claude)")
        return 0
    if options.has("--help"):
        streams.say(_HELP.format(name=context.account))
        return 0
    _check(options)
    if options.has("--acp"):
        from oulipoly_demo.live.acp_agent import Agent  # noqa: PLC0415 - as in `_session`

        return Agent(context).run()
    if options.last("--input-format") == "stream-json":
        return _session(options, context)
    interactive = not options.has("--print") and streams.is_terminal()
    prompt = " ".join(options.positionals) if interactive else _prompt(options)
    conversation = _open(options, context, entrypoint="cli" if interactive else "sdk-cli")
    if conversation is None:
        return _no_conversation(options)
    model = turn.model_name("claude", options.last("--model"))
    if interactive:
        from oulipoly_demo.clis import interactive as screen  # noqa: PLC0415 - 8 ms that a one-shot does not need

        return screen.run(context, conversation, model=model, style=style, first_prompt=prompt)
    return _one_shot(context, conversation, prompt, model, style, options.last("--output-format") or "text")


def _session(options: Parsed, context: CliContext) -> int:
    from oulipoly_demo.live.claude_session import Session  # noqa: PLC0415 - 5 ms that a one-shot does not need

    conversation = _open(options, context, entrypoint="sdk-cli")
    if conversation is None:
        return _no_conversation(options)
    mode = options.last("--permission-mode") or "default"
    if options.has("--dangerously-skip-permissions"):
        mode = "bypassPermissions"
    model = turn.model_name("claude", options.last("--model"))
    is_partial = options.has("--include-partial-messages")
    code = Session(context, conversation, model, mode, is_partial=is_partial).run()
    if options.has("--no-session-persistence"):
        conversation.path.unlink(missing_ok=True)
    return code


def _check(options: Parsed) -> None:
    output = options.last("--output-format") or "text"
    session_id = options.last("--session-id")
    if output not in _FORMATS:
        allowed = ", ".join(_FORMATS)
        raise OptionWrong(
            f"error: option '--output-format <format>' argument '{output}' is invalid. Allowed choices are {allowed}."
        )
    if output == "stream-json" and not options.has("--verbose"):
        raise OptionWrong("Error: When using --print, --output-format=stream-json requires --verbose")
    if session_id is not None and not ids.is_uuid(session_id):
        raise OptionWrong("Error: Invalid session ID. Must be a valid UUID.")
    if session_id is not None and options.has("--resume") and not options.has("--fork-session"):
        raise OptionWrong("Error: --session-id can only be used with --resume if --fork-session is also specified.")


def _prompt(options: Parsed) -> str:
    argument = " ".join(options.positionals)
    piped = ""
    if streams.has_piped_input():
        read = streams.read_unless_silent()
        if read is None:
            streams.complain("Warning: no stdin data received in 3s, proceeding without it.")
        piped = (read or "").rstrip("\n")
    prompt = "\n".join(part for part in (argument, piped) if part)
    if not prompt.strip():
        message = "Error: Input must be provided either through stdin or as a prompt argument when using --print"
        raise OptionWrong(message)
    return prompt


def _open(options: Parsed, context: CliContext, *, entrypoint: str) -> ClaudeConversation | None:
    session_id, new_id = options.last("--resume"), options.last("--session-id")
    if new_id is not None and claude_files.is_taken(context, new_id):
        raise OptionWrong(_in_use(new_id))
    if session_id is None:
        return claude_files.start(context, entrypoint=entrypoint, session_id=new_id)
    conversation = claude_files.resume(context, session_id, entrypoint=entrypoint) if ids.is_uuid(session_id) else None
    until = options.last("--resume-session-at")
    try:
        if conversation is not None and options.has("--fork-session"):
            return claude_files.fork(context, conversation, entrypoint=entrypoint, session_id=new_id, until=until)
        if conversation is not None and until is not None:
            return claude_files.cut(conversation, context, until, entrypoint=entrypoint)
    except LookupError as error:
        raise OptionWrong(str(error.args[0])) from None
    return conversation


def _no_conversation(options: Parsed) -> int:
    session_id = options.last("--resume") or ""
    text = f"No conversation found with session ID: {session_id}"
    streams.complain(text)
    if options.last("--output-format") == "stream-json":
        streams.say(json.dumps(result_line(session_id, Tokens(0, 0), "error_during_execution") | {"errors": [text]}))
    return 1


def _one_shot(
    context: CliContext, conversation: ClaudeConversation, prompt: str, model: str, style: Style, output: str
) -> int:
    _answer_signals()
    parts: list[bytes] = []
    try:
        conversation.open(context.now())
        if output == "stream-json":
            streams.say(json.dumps(init_line(context, conversation.session_id, model)))
        emit = streams.out if output == "text" else parts.append
        outcome = turn.play(
            context, conversation, prompt, model=model, style=style, emit=emit, complain=streams.complain
        )
    except KeyboardInterrupt:
        conversation.interrupt(context.now())
        streams.say("Execution error")  # with success: Claude's own oddity, which the runner has to see through
        return 0
    except FileExistsError:
        streams.complain(_in_use(conversation.session_id))
        return 1
    finally:
        conversation.close()
    _print(outcome, output, b"".join(parts), context, conversation, model)
    if outcome.asked.exit_code is not None:
        return outcome.asked.exit_code
    return 0 if outcome.failure is None else 1


def _print(
    outcome: Outcome, output: str, raw: bytes, context: CliContext, conversation: ClaudeConversation, model: str
) -> None:
    failure = outcome.failure
    text = raw.decode("utf-8", "replace") if failure is None else failure.text
    if output == "text":
        if failure is not None:
            streams.say(text)
        elif not (outcome.asked.no_newline or outcome.asked.binary_bytes):
            streams.out(b"\n")
        return
    if output == "stream-json":
        _print_events(outcome, text, context, conversation)
    result = result_line(conversation.session_id, outcome.tokens, "success") | {
        "is_error": failure is not None,
        "api_error_status": None if failure is None else failure.status,
        "duration_ms": int((outcome.ended - outcome.began) * 1000),
        "num_turns": 1,
        "result": text,
        "stop_reason": "end_turn" if failure is None else "stop_sequence",
        "modelUsage": {} if failure is not None else {model: model_usage(outcome.tokens)},
    }
    streams.say(json.dumps(result, ensure_ascii=False))


def _print_events(outcome: Outcome, text: str, context: CliContext, conversation: ClaudeConversation) -> None:
    failure = outcome.failure
    record = conversation.answer
    message: dict[str, Any] = {"type": "assistant", "message": dict(record["message"]), "parent_tool_use_id": None}
    message |= {"uuid": record["uuid"]}
    limit = {"type": "rate_limit_event", "rate_limit_info": rate_limit(failure, context), "uuid": ids.random_uuid()}
    if failure is None:
        message["message"]["content"] = [{"type": "text", "text": text}]  # whole, where the transcript keeps a part
        events = [message, limit]
    else:
        message["error"] = failure.slug
        events = [limit, message] if failure.kind in ("429", "quota") else [message]  # claude's order: why, then what
    for event in events:
        streams.say(json.dumps(event | {"session_id": conversation.session_id}, ensure_ascii=False))


def _in_use(session_id: str) -> str:
    return f"Error: Session ID {session_id} is already in use."


def _answer_signals() -> None:
    """Leave by 143 and 129 on TERM and HUP, and take INT even where a shell started us with it ignored."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    signal.signal(signal.SIGINT, signal.default_int_handler)
