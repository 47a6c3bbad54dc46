"""How a CLI is given MCP servers for one start, by words or by variables. Pure.

Nothing of the user's own is changed, and what the user gives it stays beside it. Seen with Claude Code 2.1.197, Codex
0.169, opencode 1.18.33 and Gemini CLI 0.61 (2026-11). The last takes settings besides the user's only from root, but
its extensions may bring servers: it is led to a home of links to all that the account's home has, and to one more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oulipoly_engine.records import Record, field

Entries = Mapping[str, Mapping[str, Any]]  # servers by their names, each as the CLI writes it down


class OwnFile(Record):
    """A file of ours that a CLI finds in its folder, though the folder of the account has none."""

    name: str  # below the folder, at least one folder deep
    text: str


class Handed(Record):
    """What a start gets besides its own words and variables."""

    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: tuple[OwnFile, ...] = ()  # for which it is led to a home of links; none: to the account's own


NOTHING = Handed()


class LinkedHome(Record):
    """What a CLI keeps in its home, so that links can stand for it. Names are below its folder."""

    folders: tuple[str, ...]  # that are there before it starts, for it would make them in the home of links
    files: tuple[str, ...]  # that it writes in place: a link leads there before they are
    copied: tuple[str, ...] = ()  # folders in which it overlooks links: where one has a file of ours, it has copies
    beside: tuple[str, ...] = ()  # what it reads of the home itself
    variables: Mapping[str, str] = field(default_factory=dict)  # that name a file, which it replaces by renaming
    unless: tuple[tuple[str, ...], ...] = ()  # keys of its settings with which links would lead nowhere


class HandOver(Record):
    """How one CLI takes servers."""

    give: Callable[[Entries, Mapping[str, str]], Handed]  # of the servers and the variables that it has already
    leaves_alone: Callable[[Sequence[str]], bool] = lambda words: False  # of its words: they say which servers it has
    is_seen: bool = True  # by other users of the computer, as words are: values of variables are not put into it
    allow: Callable[[str], tuple[str, ...]] = lambda server: ()  # words with which a server's tools need no approval
    allow_in: Callable[[str], tuple[OwnFile, ...]] = lambda server: ()  # or files that say so
    home: LinkedHome | None = None  # for files of ours


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


def in_file(
    name: str, key: str, document: Mapping[str, Any], *, unless: str, refused: Sequence[str] = ()
) -> Callable[[Entries, Mapping[str, str]], Handed]:
    """Return what hands servers over in a JSON file.

    unless: a variable with which links would lead nowhere. refused: variables that the CLI keeps from a server; env(1)
    sets them.
    """

    def give(servers: Entries, variables: Mapping[str, str]) -> Handed:
        if variables.get(unless, "").lower() not in ("", "0", "false"):
            return NOTHING
        entries = {server: _with_env(entry, refused) for server, entry in servers.items()}
        return Handed(files=(OwnFile(name, _json({**document, key: entries})),))

    return give


def _with_env(entry: Mapping[str, Any], refused: Sequence[str]) -> Mapping[str, Any]:
    env = entry.get("env", {})
    words = [f"{name}={env[name]}" for name in refused if name in env]
    if not words:
        return entry
    others = {name: value for name, value in env.items() if name not in refused}
    return {**entry, "command": "env", "args": [*words, entry["command"], *entry.get("args", ())], "env": others}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _toml(value: object) -> str:
    """Return a value as TOML has it in one line; JSON's texts, numbers and lists are TOML's too."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
