"""`requests …`: what live sessions and others ask, and the answers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live.requests import describe_end, to_json
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name)
    if verb == "list":
        parser.add_argument("--all", action="store_true", help="those that are answered too")
    else:
        parser.add_argument("request", metavar="ID", help="the request's id; its beginning is enough")
    if verb == "approve":
        parser.add_argument("--for-session", action="store_true", help="and the like for the rest of the session")
    if verb == "deny":
        parser.add_argument("--reason", default="", metavar="TEXT", help="what the agent is told")
    if verb == "answer":
        parser.add_argument("answers", nargs="+", metavar="QUESTION=ANSWER", help="several answers: name it again")
    if verb in ("approve", "answer"):
        parser.add_argument("--digest", metavar="TEXT", help="only what has this digest in `requests show --json`")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    return _VERBS[verb](context, parser.parse(arguments))


def _list(context: Context, options: Namespace) -> int:
    found = context.engine.live.requests(all_states=options.all)
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "requests": [to_json(one) for one in found]})
    elif not found:
        diagnostics.note(Need.REQUEST)
    else:
        now = context.clock.now()
        rows = [
            (
                one.request_id,
                one.session_id[:8] or one.asker_name,
                one.kind,
                describe_end(one.status, one.decision),
                ago(one.created_at, now),
                plain(one.prompt.title),
            )
            for one in found
        ]
        output.write_lines(table([("request", "who asks", "kind", "status", "age", "what it asks"), *rows]))
    return 0


def _show(context: Context, options: Namespace) -> int:
    request = context.engine.live.find_request(options.request)
    return tell(options, to_json(request), *describe_request(request))


def describe_request(request: LiveRequest) -> Iterator[str]:
    """Yield all that a request asks, as lines."""
    prompt = request.prompt
    yield f"{request.request_id}  {request.kind}, {request.status}"
    yield plain(prompt.title)
    if prompt.command:
        yield from (f"  $ {plain(line)}" for line in prompt.command.splitlines() or [""])
    for name, text in (("in", prompt.cwd), ("because", prompt.reason), ("for the session", prompt.reach)):
        if text:
            yield f"{name}: {plain(text)}"
    for change in prompt.changes:
        yield f"{change.kind} {plain(change.path)}"
        yield from (f"  {plain(line)}" for line in change.diff.splitlines())
    for question in prompt.questions:
        yield f"{plain(question.id)}: {plain(question.text)}"
        yield from (f"  {plain(label)}" + (f": {plain(more)}" if more else "") for label, more in question.options)
    if prompt.note:
        yield plain(prompt.note)


def _decide(decision: str) -> Callable[[Context, Namespace], int]:
    def serve(context: Context, options: Namespace) -> int:
        word = "approve_for_session" if decision == "approve" and options.for_session else decision
        reason, digest = getattr(options, "reason", ""), getattr(options, "digest", None)
        if context.engine.live.find_request(options.request).origin != "live":  # of sessions agents may ask each other
            require_person("answer what only a person may allow")
        return _tell(options, context.engine.live.answer(options.request, word, reason=reason, digest=digest))

    return serve


def _answer(context: Context, options: Namespace) -> int:
    answers: dict[str, list[str]] = {}
    for word in options.answers:
        question, equals, value = word.partition("=")
        if not equals:
            raise UsageInvalid(f"{word!r} is not QUESTION=ANSWER")
        answers.setdefault(question, []).append(value)
    told = {question: tuple(values) for question, values in answers.items()}
    return _tell(options, context.engine.live.answer(options.request, "answer", answers=told, digest=options.digest))


def _tell(options: Namespace, status: str) -> int:
    return tell(options, {"id": options.request, "status": status}, status)


_VERBS: Mapping[str, Callable[[Context, Namespace], int]] = {
    "list": _list,
    "show": _show,
    "approve": _decide("approve"),
    "deny": _decide("deny"),
    "answer": _answer,
    "cancel": _decide("cancel"),
}
