"""What a session file holds: its header and its entries, each a node of the session's tree. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.transcripts.turn_script import (
    BRANCH_SUMMARY,
    COMPACTION,
    CUSTOM_MESSAGE,
    MESSAGE,
    MODEL_CHANGE,
    SESSION_INFO,
    SPEAKING,
    THINKING_LEVEL_CHANGE,
)
from oulipoly_engine.records import Record

__all__ = [
    "BRANCH_SUMMARY",
    "COMPACTION",
    "CUSTOM_MESSAGE",
    "MESSAGE",
    "MODEL_CHANGE",
    "SESSION_INFO",
    "SPEAKING",
    "THINKING_LEVEL_CHANGE",
]

LABEL = "label"
CUSTOM = "custom"
TEXTS = {  # where an entry that is no message has its text
    COMPACTION: "summary",
    BRANCH_SUMMARY: "summary",
    LABEL: "label",
    SESSION_INFO: "name",
    THINKING_LEVEL_CHANGE: "thinking_level",
    CUSTOM: "custom_type",
}
REFERENCES = {  # where they have the id that they refer to
    COMPACTION: "first_kept_entry_id",
    BRANCH_SUMMARY: "from_id",
    LABEL: "target_id",
}
USER = "user"
ASSISTANT = "assistant"


class Header(Record):
    """The first line of a session file."""

    id: str  # empty: the line has none, and the file is not to be written
    version: int
    created_at: str = ""  # RFC 3339 in the one fixed form; empty: unknown
    cwd: str = ""
    parent_session: str | None = None  # the id of the session that it was forked from, pi: the path of its file
    extra: Mapping[str, Any] = {}  # whatever else stands there


class SessionEntry(Record):
    """One node of a session's tree."""

    id: str
    parent_id: str | None
    kind: str = MESSAGE  # one of the words above, or any other, as the file has it
    role: str = ""  # of a message: user, assistant, tool_result, or any other, as the file has it
    at: str = ""  # RFC 3339 in the one fixed form, so that instants compare as texts; empty: unknown
    text: str = ""  # what was said; of others the summary, label (empty: cleared), name, model or level
    refers_to: str | None = None  # a label's target, the first entry that a compaction keeps, where a branch was left
    is_left_out: bool = False  # no turn sends it: a shell line that its user kept to themselves
    tool_calls: int = 0
    tokens: int = 0  # that the provider has counted; 0: it did not say
    line: int = 0  # of the file, from 1; 0: it comes from elsewhere
    record: Mapping[str, Any] | None = None  # the line's object in version 2's words; None: there is no line
