"""Claude's `can_use_tool` requests: what they ask of a person, and a person's answer in claude's words. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from oulipoly_engine.core.live.events import Prompt, Question, RequestKind
from oulipoly_engine.drivers.base import Resolution
from oulipoly_engine.drivers.claude.tools import changes_of, kind_of, title_of
from oulipoly_engine.drivers.json_values import Json, listing, mapping, text_of, without_halves
from oulipoly_engine.records import Record

_REFUSALS = {
    "deny": "The user denied this.",
    "cancel": "The user stopped here.",
    "expire": "Nobody answered in time.",
    "answer": "The answer does not fit the question.",
}


class ToolRequest(Record):
    """A tool that wants to be used."""

    tool: str
    given: Mapping[str, Json]  # its input
    suggestions: tuple[Mapping[str, Json], ...]
    tool_use_id: str
    reason: str


def tool_request(request: Mapping[str, Json]) -> ToolRequest:
    """Read a request."""
    return ToolRequest(
        tool=text_of(request.get("tool_name")) or "a tool",
        given=mapping(request.get("input")),
        suggestions=tuple(mapping(one) for one in listing(request.get("permission_suggestions"))),
        tool_use_id=text_of(request.get("tool_use_id")),
        reason=text_of(request.get("description")) or text_of(request.get("decision_reason")),
    )


def request_kind(asked: ToolRequest) -> RequestKind:
    """Return what kind of request it is."""
    if asked.tool == "AskUserQuestion":
        return "user_input"
    match kind_of(asked.tool):
        case "command":
            return "command_approval"
        case "file_change":
            return "file_change_approval"
        case _:
            return "permission_approval"


def command_key(asked: ToolRequest) -> str:
    """Return what is the same for the same command, run in the same way."""
    told = {name: value for name, value in asked.given.items() if name not in ("description", "timeout")}
    return json.dumps([asked.tool, told], sort_keys=True)


def prompt_of(asked: ToolRequest, cwd: str) -> Prompt:
    """Return what a person is shown."""
    is_command = asked.tool == "Bash"
    rules = "; ".join(_rule_text(rule) for rule in _rules(asked))
    plan = text_of(asked.given.get("plan")) if asked.tool == "ExitPlanMode" else ""
    return Prompt(
        title=_title(asked),
        command=text_of(asked.given.get("command")) if is_command else "",
        cwd=cwd if is_command else "",
        reason=plan or asked.reason,
        changes=changes_of(asked.tool, asked.given),
        questions=_questions(asked) if asked.tool == "AskUserQuestion" else (),
        reach=f"{rules}, until this session's process ends" if rules else "",
        item_id=asked.tool_use_id,
    )


def response_to(asked: ToolRequest, resolution: Resolution) -> dict[str, Json]:
    """Return the answer in claude's words.

    An allowance repeats the input, without which the tool fails; "for this session" returns the rules that claude
    suggested and nothing else of its suggestions, which would have it ask for no file any more.
    """
    if asked.tool == "AskUserQuestion":
        answers = _answers(asked, resolution) if resolution.decision == "answer" else {}
        if answers:
            return {"behavior": "allow", "updatedInput": {**asked.given, "answers": answers}}
        return _refusal(resolution)
    if resolution.decision not in ("approve", "approve_for_session"):
        return _refusal(resolution)
    response: dict[str, Json] = {"behavior": "allow", "updatedInput": asked.given}
    rules = _rules(asked)
    if resolution.decision == "approve_for_session" and rules:
        grant = {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}
        response["updatedPermissions"] = [grant]
    return response


def _refusal(resolution: Resolution) -> dict[str, Json]:
    message = without_halves(resolution.reason) or _REFUSALS.get(resolution.decision, "No.")
    refusal: dict[str, Json] = {"behavior": "deny", "message": message}
    return refusal | ({"interrupt": True} if resolution.decision == "cancel" else {})


def _title(asked: ToolRequest) -> str:
    match asked.tool:
        case "AskUserQuestion":
            first = next(iter(_questions(asked)), None)
            return first.text if first else "A question"
        case "ExitPlanMode":
            return "Carry out the plan"
        case tool:
            return title_of(tool, asked.given)


def _rules(asked: ToolRequest) -> list[Json]:
    """Return the rules that would allow this again."""
    return [
        rule
        for one in asked.suggestions
        if one.get("type") == "addRules" and one.get("behavior") == "allow"
        for rule in listing(one.get("rules"))
        if text_of(mapping(rule).get("toolName"))
    ]


def _rule_text(rule: Json) -> str:
    tool, content = text_of(mapping(rule).get("toolName")), text_of(mapping(rule).get("ruleContent"))
    return f"{tool}({content})" if content else f"every use of {tool}"


def _questions(asked: ToolRequest) -> tuple[Question, ...]:
    told = [mapping(question) for question in listing(asked.given.get("questions"))]
    return tuple(_question(f"question_{index}", one) for index, one in enumerate(told, start=1))


def _question(identity: str, told: Mapping[str, Json]) -> Question:
    options = [mapping(option) for option in listing(told.get("options"))]
    return Question(
        id=identity,
        text=text_of(told.get("question")),
        header=text_of(told.get("header")),
        options=tuple((text_of(one.get("label")), text_of(one.get("description"))) for one in options),
        takes_other=True,
        takes_several=told.get("multiSelect") is True,
    )


def _answers(asked: ToolRequest, resolution: Resolution) -> dict[str, str]:
    """Return the answers by the questions' texts, as claude wants them."""
    given = resolution.answers
    return {
        question.text: without_halves(", ".join(given[question.id]))
        for question in _questions(asked)
        if given.get(question.id)
    }
