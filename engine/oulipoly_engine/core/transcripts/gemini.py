"""What stands in a line of Gemini's operation logs, and what it says: rows. Pure.

A line is a message, a patch that may replace all messages, or names the session. The calls that lines tell of are found
by `core.ledger.gemini`. Source: gemini-cli 0.61, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from oulipoly_engine.core.transcripts import turn_script
from oulipoly_engine.core.transcripts.line_decoder import ABSENT, Content, Count, LineDecoder, body_of
from oulipoly_engine.core.transcripts.turn_script import EntryLine

_ROLES = {"user": "user", "gemini": "assistant"}
_CALL, _RESULT = '[{"type":"tool_use"}]', '[{"type":"tool_result"}]'
_REPEATED = "_response"  # with which ids end that a list gives to answers it repeats


class Tokens(msgspec.Struct, gc=False):
    """The tokens of one API call."""

    input: Count = 0  # with what the cache served
    output: Count = 0  # without thoughts
    cached: Count = 0
    thoughts: Count = 0
    tool: Count = 0


class Message(msgspec.Struct, gc=False):
    """A message."""

    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    content: Content = ABSENT
    tokens: Tokens | None = None
    model: str | None = None


class Patch(msgspec.Struct, gc=False):
    """What a line sets anew."""

    session_id: str | None = msgspec.field(default=None, name="sessionId")
    messages: list[Message] | None = None


class Line(Message, gc=False):
    """One line."""

    session_id: str | None = msgspec.field(default=None, name="sessionId")
    patch: Patch | None = msgspec.field(default=None, name="$set")


DECODER = LineDecoder(Line)


def session_of(line: Line) -> str | None:
    """Return the session id that a line names."""
    return line.session_id or (line.patch.session_id if line.patch is not None else None) or None


def messages_of(line: Line) -> Sequence[Message]:
    """Return the messages that one line holds: itself, or the list that replaces all."""
    return (line,) if line.patch is None else line.patch.messages or ()


def entry_line(message: Message, session_id: str | None, file: str) -> EntryLine | None:
    """Return the row that one message is; None for other kinds, and for those that lack what a row needs.

    Ids stay when a session goes on, so a message comes again under the same one; only the answers that a list repeats
    are known by their names.
    Raises EntryRefused.
    """
    role = _ROLES.get(message.type or "")
    if session_id is None or role is None or not (message.id and message.timestamp):
        return None
    if message.id.endswith(_REPEATED):
        return None
    return EntryLine(
        turn_script.session_id(session_id),
        turn_script.storable("turn_id", message.id),
        turn_script.instant(message.timestamp),
        role,
        body=_body(message.content, role),
        source_file=file,
    )


def _body(content: Content, role: str) -> str:
    """Return what was said; without text what it is.

    An answer without text has called a tool, which a later line with the same id tells; what tools gave has no type.
    """
    body = body_of(content)
    if body is not None and '"text":' in body:
        return body
    return _CALL if role == "assistant" else _RESULT


def find_missing_texts(line: Line) -> tuple[str, ...] | None:
    """Return which of the texts that a message needs to be a row it does not have; None for what is not a message."""
    if line.patch is not None or line.type not in _ROLES:
        return None
    needed = {"id": line.id, "timestamp": line.timestamp}
    return tuple(name for name, text in needed.items() if not text)
