"""What an agent asks a person: leave for a tool call, and forms; and a person's answer in the agent's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.live.events import Item, Prompt, Question, RequestKind
from oulipoly_engine.core.live.permissions import Profile
from oulipoly_engine.drivers.acp.tool_calls import changes_of, command_of, text_in
from oulipoly_engine.drivers.base import Resolution
from oulipoly_engine.drivers.json_values import Json, listing, mapping, text_of, without_halves
from oulipoly_engine.records import Record

_REQUESTS: Mapping[str, RequestKind] = {"command": "command_approval", "file_change": "file_change_approval"}
_VAGUE = 4  # words: "Allow for this session" names nothing that it covers
CANCELLED: Json = {"outcome": {"outcome": "cancelled"}}


class Permission(Record):
    """A request for leave."""

    tool_call_id: str
    is_edit: bool
    options: tuple[tuple[str, str, str], ...]  # kind, id, name; in the agent's order

    def option(self, *kinds: str) -> str:
        """Return the id of the first option of the first of these kinds that there is."""
        return next((identity for kind in kinds for own, identity, _ in self.options if own == kind), "")


class Form(Record):
    """A request for answers."""

    fields: Mapping[str, Mapping[str, Json]]  # by the property's name: its schema


def permission_of(params: Mapping[str, Json], item: Item) -> Permission:
    """Read a request for leave."""
    options = [mapping(one) for one in listing(params.get("options"))]
    return Permission(
        tool_call_id=item.id,
        is_edit=item.kind == "file_change",
        options=tuple((text_of(o.get("kind")), text_of(o.get("optionId")), text_of(o.get("name"))) for o in options),
    )


def permission_prompt(permission: Permission, call: Mapping[str, Json], item: Item) -> Prompt:
    """Return what a person is shown."""
    texts = [text_in(mapping(part).get("content")) for part in listing(call.get("content"))]
    always = next((name for kind, _, name in permission.options if kind == "allow_always"), "")
    can_allow = bool(permission.option("allow_once"))
    return Prompt(
        title=item.title or text_of(call.get("title")) or "A tool call",
        command=(command_of(mapping(call.get("rawInput"))) or item.title) if item.kind == "command" else "",
        cwd=item.cwd,
        reason="\n".join(text for text in texts if text),
        changes=changes_of(call) or item.changes,
        reach=_reach_of(always),
        item_id=item.id,
        note="" if can_allow else "the agent offers no way to allow this once",
    )


def _reach_of(name: str) -> str:
    """Return what an option for always covers, as far as its name tells: opencode's means the command's first word."""
    is_vague = 0 < len(name.split()) <= _VAGUE
    return f"{name} (the agent does not say what else that covers)" if is_vague else name


def request_kind(item: Item) -> RequestKind:
    """Return what kind of request it is."""
    return _REQUESTS.get(item.kind, "permission_approval")


def profile_option(permission: Permission, profile: Profile) -> str:
    """Return the option that a profile takes without asking a person, or nothing."""
    if profile == "full_access" or (profile == "auto_accept_edits" and permission.is_edit):
        return permission.option("allow_once")
    return ""


def permission_answer(permission: Permission, resolution: Resolution) -> Json:
    """Return the answer: an option of the kind that was decided on, never a broader one; else that it is cancelled."""
    match resolution.decision:
        case "approve":
            chosen = permission.option("allow_once")
        case "approve_for_session":
            chosen = permission.option("allow_always", "allow_once")
        case "cancel":
            chosen = ""
        case _:
            chosen = permission.option("reject_once", "reject_always")
    return {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else CANCELLED


def form_of(params: Mapping[str, Json]) -> Form | None:
    """Read a request for answers; None where it is no form."""
    schema = mapping(params.get("requestedSchema"))
    fields = {name: mapping(field) for name, field in mapping(schema.get("properties")).items()}
    return Form(fields) if params.get("mode", "form") == "form" and fields else None


def form_prompt(form: Form, params: Mapping[str, Json]) -> Prompt:
    """Return what a person is shown."""
    title = text_of(params.get("message")) or "The agent asks"
    return Prompt(title, questions=tuple(_question(name, field) for name, field in form.fields.items()))


def form_answer(form: Form, resolution: Resolution) -> Json:
    """Return the answer to a form, each value as its field wants it."""
    if resolution.decision == "answer":
        given = {name: values for name, values in resolution.answers.items() if name in form.fields and values}
        return {"action": "accept", "content": {name: _value(form.fields[name], given[name]) for name in given}}
    return {"action": "cancel" if resolution.decision in ("cancel", "expire") else "decline"}


def _question(name: str, field: Mapping[str, Json]) -> Question:
    items = mapping(field.get("items"))
    choices = listing(field.get("oneOf")) or listing(items.get("anyOf")) or listing(items.get("oneOf"))
    named = [(text_of(mapping(one).get("const")), text_of(mapping(one).get("title"))) for one in choices]
    plain = [(text_of(one), "") for one in listing(field.get("enum")) or listing(items.get("enum"))]
    if field.get("type") == "boolean":
        plain = [("yes", ""), ("no", "")]
    return Question(
        id=name,
        text=text_of(field.get("description")) or text_of(field.get("title")) or name,
        header=text_of(field.get("title")),
        options=tuple(named or plain),
        takes_other=not (named or plain),
        takes_several=field.get("type") == "array",
        is_secret=field.get("format") == "password" or field.get("writeOnly") is True,
    )


def _value(field: Mapping[str, Json], values: tuple[str, ...]) -> Json:
    texts = [without_halves(value) for value in values]
    try:
        match field.get("type"):
            case "array":
                return texts
            case "boolean":
                return texts[0].strip().casefold() in ("yes", "true", "1", "y", "on")
            case "integer":
                return int(texts[0])
            case "number":
                return float(texts[0])
            case _:
                return texts[0]
    except ValueError:
        return texts[0]  # the agent says what is wrong with it
