"""A model's reply, which is hostile until it has been read here. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from oulipoly_engine.core.setup.actions import AnyAction, check_action
from oulipoly_engine.core.setup.dialogs import SHORT
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.records import Record, prepare

LONGEST_REPLY = 1 << 20  # bytes
MOST_ACTIONS = 20  # of a turn
_MOST_TRIES = 64  # places of a reply where its object may begin
_SESSION = re.compile(r"(?:^|\s)(?:Session|session_id):\s*([0-9A-Za-z_-]{1,128})")


class BadAction(Record):
    """An action that cannot be read, and why."""

    kind: str
    reason: str


class Reply(Record):
    """What a model answered in one turn."""

    actions: tuple[AnyAction | BadAction, ...]
    done: bool = False
    left_out: int = 0  # actions beyond those that a turn may have
    text: str = ""  # the object alone, as JSON


def parse_reply(text: str) -> Reply:
    """Read a model's answer: the object itself, in a code fence, in other text, or in the envelope of Claude Code.

    An action that cannot be read stands as a BadAction among the others. Raises RequestRefused with the reason.
    """
    if len(text.encode("utf-8", "replace")) > LONGEST_REPLY:
        raise RequestRefused(f"the reply is longer than {LONGEST_REPLY} bytes")
    found = _find_turn(text)
    if found is None:
        raise RequestRefused('there is no JSON object {"actions": [...], "done": false} in the reply')
    actions, done = found.get("actions", []), found.get("done", False)
    if not isinstance(actions, list) or not isinstance(done, bool):
        raise RequestRefused('"actions" has to be a list and "done" true or false')
    read = tuple(_read_action(one) for one in actions[:MOST_ACTIONS])
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return Reply(read, done, max(0, len(actions) - MOST_ACTIONS), text)


def session_id(stderr: str) -> str | None:
    """Return the session that a CLI names on stderr, `Session: ID` or `session_id: ID`.

    The contract has it (vector setu-002). Our own turns go on with no session: each prompt has the whole dialogue.
    """
    found = _SESSION.search(stderr)
    return None if found is None else found[1]


def _find_turn(text: str) -> Mapping[str, Any] | None:
    for found in _objects(text):
        if "actions" in found or "done" in found:
            return found
        structured, result = found.get("structured_output"), found.get("result")
        if isinstance(structured, dict):
            return structured
        if isinstance(result, dict):
            return result
        if isinstance(result, str):
            return next((one for one in _objects(result) if "actions" in one or "done" in one), None)
    return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, one behind the other."""
    decoder = json.JSONDecoder(parse_float=read_number, parse_constant=read_number)
    begin = text.find("{")
    for _ in range(_MOST_TRIES):
        if begin < 0:
            return
        try:
            found, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            begin = text.find("{", begin + 1)
            continue
        yield found
        begin = text.find("{", end)


def read_number(text: str) -> float:
    """Return a number that JSON can say again. Raises ValueError for NaN, Infinity and 1e999."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:SHORT]} is not a number of JSON")
    return number


def _read_action(told: object) -> AnyAction | BadAction:
    kind = told.get("type") if isinstance(told, dict) else None
    name = visible_line(kind[:SHORT]) if isinstance(kind, str) else "?"
    try:
        action: AnyAction = msgspec.convert(told, prepare(AnyAction))
        check_action(action)
    except UnicodeError:  # msgspec's own, of half a character in a tag
        return BadAction(name, "a text is not Unicode")
    except (msgspec.ValidationError, RequestRefused, RecursionError) as error:
        return BadAction(name, visible_line(str(error)[:SHORT]))
    return action
