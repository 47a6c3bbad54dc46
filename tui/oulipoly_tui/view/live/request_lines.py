"""A request as lines: all that is to be allowed, sign by sign, and what each answer does. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from oulipoly_engine.core.live.events import Prompt, Question
from oulipoly_engine.core.text.control_characters import visible_line, visible_text
from oulipoly_tui.view.live.conversation import OpenRequest
from oulipoly_tui.view.live.diff_lines import change_lines
from oulipoly_tui.view.transcript.markdown import bar
from oulipoly_tui.view.transcript.spans import Line, Span, cells, plain, wrap_lines

KINDS: Mapping[str, str] = {
    "command_approval": "run a command",
    "file_change_approval": "change files",
    "permission_approval": "get a permission",
    "user_input": "ask you something",
}
_ANSWERS = (  # method of the pane, what it does
    ("approve", "approve"),
    ("approve_for_session", "for the session …"),
    ("deny", "deny"),
    ("deny_with_reason", "deny, say why …"),
    ("cancel_request", "deny, interrupt"),
)
_BETWEEN: Span = ("  ", "")  # two answers
APPROVALS = ("approve", "approve_for_session")  # only of what was read to its end


def can(request: OpenRequest, method: str) -> str | None:
    """Say why a request cannot be answered so; None: it can."""
    if method == "cancel_request":
        return None
    if request.kind == "other":
        return f"it cannot be answered here: {request.prompt.note or 'its kind is not known'}"
    if request.kind == "user_input":
        return None if method == "approve" else "it asks a question: answer it"
    if method == "approve_for_session" and not request.prompt.reach:
        return "its CLI offers nothing for the whole session: approve it once"
    return None


def title_line(request: OpenRequest, count: int) -> str:
    """Return what stands above a request. count: of all that wait."""
    more = f" · {count - 1} more after it" if count > 1 else ""
    return f"? wants to {KINDS.get(request.kind, 'ask something')}{more}"


def answer_line(request: OpenRequest, keys: Mapping[str, str], end_key: str = "") -> Line:
    """Return the answers that there are, with their keys by the pane's methods.

    end_key: shows the end of the request, which was not on the screen yet.
    """
    is_question = request.kind == "user_input"
    is_unread = bool(end_key) and not is_question and can(request, "approve") is None
    spans: list[Span] = [(end_key, "key"), (" shows the rest: approve when it was seen", "warn")] if is_unread else []
    for method, words in _ANSWERS:
        if is_unread and method in APPROVALS:
            continue
        if can(request, method) is None and keys.get(method):
            text = "answer" if is_question and method == "approve" else words
            spans += [*((_BETWEEN,) if spans else ()), (keys[method], "key"), (f" {text}", "")]
    return tuple(spans)


def break_answers(line: Line, width: int) -> tuple[Line, ...]:
    """Break a line of answers between two of them: never between a key and what it does."""
    found: list[list[Span]] = [[]]
    group: list[Span] = []
    for span in (*line, _BETWEEN):
        if span != _BETWEEN:
            group.append(span)
            continue
        if found[-1] and cells(plain((*found[-1], _BETWEEN, *group))) > width:
            found.append([])
        found[-1] += ([_BETWEEN] if found[-1] else []) + group
        group = []
    return wrap_lines(map(tuple, found), width)


def request_lines(request: OpenRequest, width: int) -> tuple[Line, ...]:
    """Return all that a request asks for."""
    return wrap_lines(_lines(request.prompt, request.kind, max(12, width)), max(12, width))


def reach_lines(request: OpenRequest) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return what an approval for the whole session covers, and what is asked for now."""
    prompt = request.prompt
    covers: Line = (("for the session: ", "dim"), (visible_line(prompt.reach), "warn"))
    asked = visible_text(prompt.command or prompt.title).split("\n")
    return (covers,), tuple(((line, "key"),) for line in asked)


def _lines(prompt: Prompt, kind: str, width: int) -> Iterator[Line]:
    if prompt.title and prompt.title not in (prompt.command, *(one.text for one in prompt.questions)):
        yield ((visible_line(prompt.title), "strong"),)
    for line in visible_text(prompt.command).split("\n") if prompt.command else ():
        yield from bar(line, width, "accent", "key")
    if prompt.cwd:
        yield (("in ", "dim"), (visible_line(prompt.cwd), ""))
    for line in visible_text(prompt.reason).split("\n") if prompt.reason else ():
        yield ((line, "dim"),)
    for number, question in enumerate(prompt.questions, 1):
        yield from _question_lines(question, number if len(prompt.questions) > 1 else 0)
    yield from change_lines(prompt.changes, width)
    if prompt.reach:
        yield (("for the session: ", "dim"), (visible_line(prompt.reach), "warn"))
    if prompt.note or kind == "other":
        yield ((visible_line(prompt.note or "it cannot be answered here"), "warn"),)


def _question_lines(question: Question, number: int) -> Iterator[Line]:
    head = f"{number}. " if number else ""
    yield ((head, "dim"), (visible_line(question.text or question.header or question.id), "strong"))
    for label, description in question.options:
        said = f"  {visible_line(description)}" if description else ""
        yield (("   • ", "accent"), (visible_line(label), ""), (said, "dim"))
