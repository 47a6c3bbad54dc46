"""What agents may do: the catalogue of tools of ours with what they take, and who may use which command. Pure.

The names are openotters' functions in the form that an Agentfile demands: DNS-1123 labels. `note_save` is taken too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from oulipoly_engine.core.images import names
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.records import Record, field

LONGEST_KEY = 100  # characters
LONGEST_NOTE = 64 << 10  # characters
MOST_NOTES = 500  # of one agent
LONGEST_PINNED = 16 << 10  # characters of all pinned notes: they stand in every session's context
MOST_WAITING = 4  # prompts that wait for one another: more is a loop
AGENT_PREFIX = "agent:"  # of a subject: then a running agent's id; the digest is the id of the one that it may prompt
PROMPT_RIGHT = "prompt"  # of a link
PROMPT_S = 600.0  # that an agent waits for another


class Capability(Record):
    """One tool of ours."""

    name: str
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)  # JSON Schema of its arguments, all of them required

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the JSON Schema of its arguments."""
        return {"type": "object", "properties": self.properties, "required": list(self.properties)}


class Note(Record):
    """A text that an agent keeps by a key."""

    key: str
    text: str
    is_pinned: bool = False  # part of the agent's context


_KEY = {"key": {"type": "string", "description": "the name of the note"}}
_OFFERED = (
    Capability("note-save", "Keep a note for later sessions of yours.", {**_KEY, "text": {"type": "string"}}),
    Capability("note-get", "Read a note of yours.", _KEY),
    Capability("note-list", "List your notes: key, length, whether it is pinned."),
    Capability("note-delete", "Delete a note of yours.", _KEY),
    Capability(
        "note-set-in-context",
        "Pin a note of yours into the context of your next sessions, or unpin it.",
        {**_KEY, "in_context": {"type": "boolean"}},
    ),
    Capability("agent-list", "List the agents that you may prompt, and whether they run."),
    Capability(
        "agent-prompt",
        "Send a text to an agent that you may prompt, in a new session of it, and return its answer.",
        {"agent": {"type": "string", "description": "its name, of agent-list"}, "text": {"type": "string"}},
    ),
)
CAPABILITIES: Mapping[str, Capability] = {capability.name: capability for capability in _OFFERED}


class Caller(StrEnum):
    """Who asks."""

    PERSON = "a person"
    ITSELF = "what the agent itself has started"
    LINKED = "what an agent has started that may prompt it"  # by a link and the capability agent-prompt
    OTHER = "what another agent, or any run of ours, has started"


# Looking is open to all, as it is at sessions. Notes are their agent's own, which has tools of ours for them.
_ANYONE = frozenset(Caller)
_PERSON = frozenset({Caller.PERSON})
_ITSELF = frozenset({Caller.PERSON, Caller.ITSELF})  # a tool runs in the agent's own box: it could run that anyway
_LINKED = frozenset({Caller.PERSON, Caller.LINKED})
MAY: Mapping[str, frozenset[Caller]] = {
    **dict.fromkeys(("agent ps", "agent inspect", "agent logs", "agent sessions"), _ANYONE),
    **dict.fromkeys(("agent links", "token ls", "job ls", "job inspect", "job await"), _ANYONE),
    **dict.fromkeys(("agent exec", "job run", "job cancel"), _ITSELF),
    "agent prompt": _LINKED,
    **dict.fromkeys(("agent run", "agent start", "agent stop", "agent rm", "agent chat"), _PERSON),
    **dict.fromkeys(("agent link", "agent unlink", "token create", "token revoke"), _PERSON),
    **dict.fromkeys(("note ls", "note get", "note set", "note rm", "note pin", "note unpin"), _PERSON),
}


def keep_known(words: Iterable[str]) -> tuple[str, ...]:
    """Return the capabilities that an image asks for and that this program offers, as labels; others get lost."""
    return tuple(dict.fromkeys(name for name in map(names.as_label, words) if name in CAPABILITIES))


def parse_capabilities(words: Iterable[str]) -> tuple[str, ...]:
    """Return capabilities as a person names them, as labels. Raises UsageInvalid, which lists what there is."""
    labels = tuple(dict.fromkeys(map(names.as_label, words)))
    for label in labels:
        if label not in CAPABILITIES:
            raise UsageInvalid(f"there is no capability {label[:80]!r}: {', '.join(CAPABILITIES)}")
    return labels


def check_key(key: str) -> str:
    """Return the key of a note. Raises UsageInvalid."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable() or key != key.strip():
        raise UsageInvalid(f"the key of a note is one line of at most {LONGEST_KEY} characters, not {key[:80]!r}")
    return key


def check_notes(notes: Iterable[Note]) -> None:
    """Refuse what is too much for one agent. Raises UsageInvalid, which says what to do."""
    all_notes = tuple(notes)
    pinned = sum(len(note.text) for note in all_notes if note.is_pinned)
    if len(all_notes) > MOST_NOTES:
        raise UsageInvalid(f"an agent has {MOST_NOTES} notes at most: delete some first")
    if any(len(note.text) > LONGEST_NOTE for note in all_notes):
        raise UsageInvalid(f"a note has {LONGEST_NOTE:,} characters at most: keep a longer text in a file")
    if pinned > LONGEST_PINNED:
        raise UsageInvalid(f"pinned notes have {LONGEST_PINNED:,} characters at most in all: unpin some first")
