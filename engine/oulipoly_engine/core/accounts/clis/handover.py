"""How a CLI is given MCP servers for one start, by words or by variables. Pure.

Nothing of the user's own is changed, and what the user gives it stays beside it. Seen with Claude Code 2.1.197, Codex
0.169 and opencode 1.18.33 (2026-11). Gemini CLI 0.61 has no such way: it takes a file of settings besides the user's
only from root.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oulipoly_engine.records import Record, field

Entries = Mapping[str, Mapping[str, Any]]  # servers by their names, each as the CLI writes it down


class Handed(Record):
    """What a start gets besides its own words and variables."""

    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


NOTHING = Handed()


class HandOver(Record):
    """How one CLI takes servers."""

    give: Callable[[Entries, Mapping[str, str]], Handed]  # of the servers and the variables that it has already
    leaves_alone: Callable[[Sequence[str]], bool] = lambda words: False  # of its words: they say which servers it has
    is_seen: bool = True  # by other users of the computer, as words are: values of variables are not put into it
    allow: Callable[[str], tuple[str, ...]] = lambda server: ()  # words with which a server's tools need no approval


def has_word(*names: str) -> Callable[[Sequence[str]], bool]:
    """Return what tells whether one of these options stands among words, with a value or without."""
    return lambda words: any(word.partition("=")[0] in names for word in words)


def in_variable(name: str, key: str) -> Callable[[Entries, Mapping[str, str]], Handed]:
    """Return what hands servers over as JSON in a variable; what it holds already stays."""

    def give(servers: Entries, variables: Mapping[str, str]) -> Handed:
        try:
            document = json.loads(variables.get(name) or "{}")
        except ValueError:
            return NOTHING  # of a form that only the CLI knows
        present = document.get(key, {}) if isinstance(document, dict) else None
        if not isinstance(present, dict):
            return NOTHING
        return Handed(environment={name: _json({**document, key: {**servers, **present}})})

    return give


def by_option(option: str, key: str) -> Callable[[Entries, Mapping[str, str]], Handed]:
    """Return what hands servers over as JSON behind an option."""
    return lambda servers, _variables: Handed((f"{option}={_json({key: servers})}",))


def by_keys(option: str, key: str) -> Callable[[Entries, Mapping[str, str]], Handed]:
    """Return what hands each server over as a key of a TOML file, behind an option of its own."""

    def give(servers: Entries, _variables: Mapping[str, str]) -> Handed:
        return Handed(
            tuple(word for name, entry in servers.items() for word in (option, f"{key}.{name}={_toml(entry)}"))
        )

    return give


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _toml(value: object) -> str:
    """Return a value as TOML has it in one line; JSON's texts, numbers and lists are TOML's too."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
