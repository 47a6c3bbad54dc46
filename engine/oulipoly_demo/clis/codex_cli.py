"""The Codex-like face: `exec`, with a banner on stderr or JSON events on stdout, and `exec resume`.

Source: Codex 0.169, seen 2026-11; texts, streams and exit codes are its own.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

from oulipoly_demo.base import codex_files, ids, streams, turn
from oulipoly_demo.base.codex_files import CodexConversation, SessionOpen
from oulipoly_demo.base.context import VERSION, CliContext
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.base.options import STYLE_OPTIONS, OptionWrong, Parsed, Style, Syntax, parse, style_of
from oulipoly_demo.base.turn import Outcome

SYNTAX = Syntax(
    vendor="codex",
    valued=STYLE_OPTIONS
    | {"--model", "--output-last-message", "--config", "--sandbox", "--cd", "--profile", "--color"},
    flags=frozenset({"--json", "--skip-git-repo-check", "--full-auto", "--no-daemon", "--version", "--help"})
    | {"--dangerously-bypass-approvals-and-sandbox", "--ephemeral"},
    short=(
        ("-m", "--model"),
        ("-o", "--output-last-message"),
        ("-c", "--config"),
        ("-s", "--sandbox"),
        ("-C", "--cd"),
        ("-p", "--profile"),
        ("-V", "--version"),
        ("-h", "--help"),
    ),
)
_HELP = """Usage: {name} [OPTIONS] [PROMPT]
       {name} exec [OPTIONS] [PROMPT]
       {name} exec [OPTIONS] resume ID [PROMPT]
       {name} resume ID [PROMPT]
       {name} app-server

A demo: an agent CLI with made-up answers. No model is asked, nothing leaves this machine.

  -m, --model NAME                what an answer costs
  --json                          events on stdout
  -o, --output-last-message FILE  where the answer goes as well
  -C, --cd DIR                    work there
  --tone, --lines, --topic, --temperature, --emoji, --title   how the answer sounds
  login status                    say who is logged in"""
_USAGE_EXIT = 2  # clap's


def run(argv: Sequence[str], context: CliContext) -> int:
    """Run one command line; returns the exit code."""
    try:
        options = parse(argv, SYNTAX)
        style = style_of(options, "codex")
    except OptionWrong as error:
        streams.complain(f"{error}\n\nFor more information, try '--help'.")
        return _USAGE_EXIT
    if options.has("--version"):
        streams.say(f"demo-codex-cli {VERSION}")
        return 0
    if options.has("--help"):
        streams.say(_HELP.format(name=context.account))
        return 0
    where = options.last("--cd")
    if where is not None:
        context = context._replace(cwd=Path(where).resolve())
    try:
        return _dispatch(options, style, context)
    except SessionOpen as error:
        streams.complain(f"Error: thread/resume: thread/resume failed: {error} (code -32600)")
        return 1


def _dispatch(options: Parsed, style: Style, context: CliContext) -> int:
    match options.positionals:
        case ["login", "status"]:
            streams.complain(f"Logged in using a demo account ({context.account})")
            return 0
        case ["exec", *words]:
            return _exec(options, words, style, context)
        case ["app-server"]:
            from oulipoly_demo.live.codex_server import CodexServer  # noqa: PLC0415 - as below

            return CodexServer(context, options.last("--model")).run()
    if not streams.is_terminal():
        streams.complain("Error: stdin is not a terminal")
        return 1
    thread_id, words = _resumed(options.positionals)
    conversation = _open(thread_id, context, source="cli")
    if conversation is None:
        return _no_rollout(thread_id)
    from oulipoly_demo.clis import interactive  # noqa: PLC0415 - 8 ms that a one-shot does not need

    model = turn.model_name("codex", options.last("--model"))
    return interactive.run(context, conversation, model=model, style=style, first_prompt=" ".join(words))


def _exec(options: Parsed, words: Sequence[str], style: Style, context: CliContext) -> int:
    thread_id, words = _resumed(words)
    prompt = _prompt(" ".join(words))
    if not prompt.strip():
        streams.complain("No prompt provided via stdin.")
        return 1
    conversation = _open(thread_id, context, source="exec")
    if conversation is None:
        return _no_rollout(thread_id)
    return _one_shot(options, conversation, prompt, style, context)


def _resumed(words: Sequence[str]) -> tuple[str | None, list[str]]:
    if list(words[:1]) == ["resume"] and len(words) > 1:
        return words[1], list(words[2:])
    return None, list(words)


def _open(thread_id: str | None, context: CliContext, *, source: str) -> CodexConversation | None:
    # An id that is not a UUID silently starts a new thread: Codex does so too, and the runner has to notice.
    if thread_id is None or not ids.is_uuid(thread_id):
        return codex_files.start(context, source=source, now=context.now())
    return codex_files.resume(context, thread_id, source=source)


def _no_rollout(thread_id: str | None) -> int:
    text = f"thread/resume failed: no rollout found for thread id {thread_id}"
    streams.complain(f"Error: thread/resume: {text} (code -32600)")
    return 1


def _prompt(argument: str) -> str:
    if argument in ("", "-"):
        if streams.has_piped_input():
            streams.complain("Reading prompt from stdin...")
            return streams.read_all()
        return ""
    if not streams.has_piped_input():
        return argument
    streams.complain("Reading additional input from stdin...")
    piped = streams.read_all()  # an open, silent stdin is waited for without end, as with Codex
    return f"{argument}\n\n<stdin>\n{piped.rstrip()}\n</stdin>" if piped.strip() else argument


def _one_shot(options: Parsed, conversation: CodexConversation, prompt: str, style: Style, context: CliContext) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where a shell started us with it ignored
    model = turn.model_name("codex", options.last("--model"))
    as_json = options.has("--json")
    last_message = options.last("--output-last-message")
    if last_message is not None:
        Path(last_message).write_bytes(b"")
    if as_json:
        _event({"type": "thread.started", "thread_id": conversation.session_id}, {"type": "turn.started"})
    else:
        streams.complain(_banner(context, conversation, model, prompt))
    parts: list[bytes] = []
    emit = parts.append if as_json or last_message is not None else streams.out
    try:
        outcome = turn.play(
            context, conversation, prompt, model=model, style=style, emit=emit, complain=streams.complain
        )
    except KeyboardInterrupt:
        conversation.interrupt(context.now())
        return 1
    finally:
        conversation.close()
    raw = b"".join(parts)
    if last_message is not None:
        Path(last_message).write_bytes(raw)
    if outcome.failure is not None:
        _print_failure(outcome.failure, as_json=as_json)
    elif as_json:
        _print_events(raw, conversation)
    else:
        _print_text(raw, outcome, conversation)
    if outcome.asked.exit_code is not None:
        return outcome.asked.exit_code
    return 0 if outcome.failure is None else 1


def _banner(context: CliContext, conversation: CodexConversation, model: str, prompt: str) -> str:
    return (
        f"OpenAI Codex v{VERSION} (demo: made-up answers)\n--------\nworkdir: {context.cwd}\nmodel: {model}\n"
        f"provider: demo\napproval: never\nsandbox: read-only\nsession id: {conversation.session_id}\n--------\n"
        f"user\n{prompt}"
    )


def _print_failure(failure: Failure, *, as_json: bool) -> None:
    if as_json:
        if failure.retried:
            _event({"type": "error", "message": f"Reconnecting... 1/1 ({failure.text})"})
        _event({"type": "error", "message": failure.text}, {"type": "turn.failed", "error": {"message": failure.text}})
        return
    if failure.retried:
        streams.complain("ERROR: Reconnecting... 1/1")
    streams.complain(f"ERROR: {failure.text}\nERROR: {failure.text}")


def _print_events(raw: bytes, conversation: CodexConversation) -> None:
    item = {"id": "item_0", "type": "agent_message", "text": raw.decode("utf-8", "replace")}
    total = conversation.total  # the thread's, not this turn's: Codex' own oddity
    usage = {"input_tokens": total.input, "cached_input_tokens": 0, "output_tokens": total.output}
    _event({"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": usage})


def _print_text(raw: bytes, outcome: Outcome, conversation: CodexConversation) -> None:
    streams.out(raw)
    if not (outcome.asked.no_newline or outcome.asked.binary_bytes):
        streams.out(b"\n")
    streams.complain(f"tokens used\n{conversation.total.input + conversation.total.output:,}")


def _event(*events: dict[str, object]) -> None:
    for event in events:
        streams.say(json.dumps(event, ensure_ascii=False))
