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

from oulipoly_demo import ids
from oulipoly_demo.clis import claude_files, streams, turn
from oulipoly_demo.clis.claude_files import ClaudeConversation
from oulipoly_demo.clis.context import VERSION, CliContext
from oulipoly_demo.clis.options import STYLE_OPTIONS, OptionWrong, Parsed, Style, Syntax, parse, style_of
from oulipoly_demo.clis.turn import Outcome
from oulipoly_demo.quota import levels
from oulipoly_demo.quota.levels import Tokens

SYNTAX = Syntax(
    vendor="claude",
    valued=STYLE_OPTIONS
    | {"--model", "--output-format", "--input-format", "--session-id", "--resume", "--permission-mode", "--settings"}
    | {"--append-system-prompt", "--system-prompt", "--max-turns", "--fallback-model", "--permission-prompt-tool"},
    flags=frozenset(
        {"--print", "--verbose", "--fork-session", "--dangerously-skip-permissions", "--version", "--help"}
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


def _check(options: Parsed) -> None:
    output = options.last("--output-format") or "text"
    session_id = options.last("--session-id")
    if output not in _FORMATS:
        allowed = ", ".join(_FORMATS)
        message = (
            f"error: option '--output-format <format>' argument '{output}' is invalid. Allowed choices are {allowed}."
        )
        raise OptionWrong(message)
    if output == "stream-json" and not options.has("--verbose"):
        message = "Error: When using --print, --output-format=stream-json requires --verbose"
        raise OptionWrong(message)
    if session_id is not None and not ids.is_uuid(session_id):
        message = "Error: Invalid session ID. Must be a valid UUID."
        raise OptionWrong(message)
    if session_id is not None and options.has("--resume") and not options.has("--fork-session"):
        message = "Error: --session-id can only be used with --resume if --fork-session is also specified."
        raise OptionWrong(message)


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
    if conversation is not None and options.has("--fork-session"):
        return claude_files.fork(context, conversation, entrypoint=entrypoint, session_id=new_id)
    return conversation


def _no_conversation(options: Parsed) -> int:
    session_id = options.last("--resume") or ""
    text = f"No conversation found with session ID: {session_id}"
    streams.complain(text)
    if options.last("--output-format") == "stream-json":
        streams.say(json.dumps(_result(session_id, Tokens(0, 0), "error_during_execution") | {"errors": [text]}))
    return 1


def _one_shot(
    context: CliContext, conversation: ClaudeConversation, prompt: str, model: str, style: Style, output: str
) -> int:
    _answer_signals()
    parts: list[bytes] = []
    try:
        conversation.open(context.now())
        if output == "stream-json":
            streams.say(json.dumps(_init(context, conversation, model)))
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
    result = _result(conversation.session_id, outcome.tokens, "success") | {
        "is_error": failure is not None,
        "api_error_status": None if failure is None else failure.status,
        "duration_ms": int((outcome.ended - outcome.began) * 1000),
        "num_turns": 1,
        "result": text,
        "stop_reason": "end_turn" if failure is None else "stop_sequence",
        "modelUsage": {} if failure is not None else {model: _model_usage(outcome.tokens)},
    }
    streams.say(json.dumps(result, ensure_ascii=False))


def _print_events(outcome: Outcome, text: str, context: CliContext, conversation: ClaudeConversation) -> None:
    failure = outcome.failure
    of_session = {"session_id": conversation.session_id}
    record = conversation.answer
    event: dict[str, Any] = {"type": "assistant", "message": dict(record["message"]), "parent_tool_use_id": None}
    event |= of_session | {"uuid": record["uuid"]}
    if failure is None:
        event["message"]["content"] = [{"type": "text", "text": text}]  # whole, where the transcript keeps a part
    else:
        event["error"] = failure.slug
    if failure is None or failure.kind in ("429", "quota"):
        info = {"type": "rate_limit_event", "rate_limit_info": _rate_limit(outcome, context)}
        streams.say(json.dumps(info | of_session | {"uuid": ids.random_uuid()}))
    streams.say(json.dumps(event, ensure_ascii=False))


def _rate_limit(outcome: Outcome, context: CliContext) -> dict[str, Any]:
    if outcome.failure is not None and outcome.failure.kind == "429":
        return {"status": "rejected", "isUsingOverage": False}
    now = context.now()
    tiers = context.meter.read(now)
    tier = levels.blocking(tiers, now) or next(tier for tier in tiers if tier.kind == "short")
    return {
        "status": "allowed" if outcome.failure is None else "rejected",
        "resetsAt": int(tier.resets_at or now + tier.length_s),
        "rateLimitType": "five_hour" if tier.kind == "short" else "seven_day",
        "isUsingOverage": False,
    }


def _init(context: CliContext, conversation: ClaudeConversation, model: str) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": str(context.cwd),
        "session_id": conversation.session_id,
        "tools": [],
        "mcp_servers": [],
        "model": model,
        "permissionMode": "default",
        "apiKeySource": "none",
        "claude_code_version": VERSION,
        "uuid": ids.random_uuid(),
    }


def _result(session_id: str, tokens: Tokens, subtype: str) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": subtype,
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": claude_files.usage(tokens),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": ids.random_uuid(),
    }


def _model_usage(tokens: Tokens) -> dict[str, Any]:
    counts = {"inputTokens": tokens.input, "outputTokens": tokens.output, "cacheReadInputTokens": 0}
    return counts | {"cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": 0, "contextWindow": 200_000}


def _in_use(session_id: str) -> str:
    return f"Error: Session ID {session_id} is already in use."


def _answer_signals() -> None:
    """Leave by 143 and 129 on TERM and HUP, and take INT even where a shell started us with it ignored."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    signal.signal(signal.SIGINT, signal.default_int_handler)
