"""What can stand where a word is being typed. Asked by the shells' scripts: `agents __complete SHELL WORDS...`.

The commands and their options come from `table.json`, which scripts/command_reference.py makes of the parsers: to make
these anew at each key would take 300 ms.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from oulipoly_engine.cli.base import commands
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.facade import completion, output
from oulipoly_engine.paths import from_environment

_PATHS = {"file": ":files", "folder": ":folders", "program": ":programs"}  # the shell knows these itself
_OF_THE_APP = {
    "--linear": "plain lines, for screen readers",
    "--read-only": "show everything, change nothing",
    "--no-anim": "move nothing",
}
Offer = tuple[str, str]  # a word, and what it is


class _Place(NamedTuple):
    """Where a word stands."""

    spec: dict[str, Any]  # its command's entry of the table
    given: list[str]  # what stands before it of this command
    kind: str | list[str] | None  # what is wanted there: a kind of value, one of these words, or nothing we know
    closed: bool  # behind `--`


def run(arguments: list[str]) -> int:
    """Print a line a word, `WORD<tab>WHAT IT IS`; or `:files`, `:folders`, `:programs`, for the shell to find them.

    arguments: the shell's name and the words behind the program's, the last of them being typed.
    """
    shell, *words = arguments or ["fish"]
    words = _join_values(words) or [""]
    lines = _format(offer(words), shell)
    output.write_block("".join(f"{line}\n" for line in lines))
    return 0


def offer(words: list[str]) -> list[Offer]:
    """Return what the last of the words can become."""
    *before, begin = words
    table = json.loads((Path(__file__).parent / "table.json").read_text(encoding="utf-8"))
    name, given = _find_command(table, before)
    place = _find_place(table.get(name, {}), given)
    head, value = _split_value(begin, place)
    if head:
        takes = place.spec["options"][head[:-1]]["takes"]
        return [(head + word, text) for word, text in _values(takes, value, words)]
    if begin.startswith("-") and not place.closed and not _is_value(place):
        return [(one, text) for one, text in _options(place, name) if one.startswith(begin)]
    offers = _values(place.kind, begin, words)
    if not _is_value(place):
        offers = [*_commands(table, name, given, begin), *offers]
    return offers


def _find_command(table: dict[str, Any], before: list[str]) -> tuple[str, list[str]]:
    """Return the command that the words lead to, and its words; "": none yet, a noun: its verb is to come."""
    index, options = 0, table[""]["options"]
    while index < len(before):
        word = before[index]
        if word == "--" or options.get(word.split("=")[0], {}).get("one_shot"):
            return "", before
        if not word.startswith("-"):
            break
        index += 2 if options.get(word, {}).get("takes") else 1
    rest = before[index:]
    if not rest or rest[0] not in commands.names():
        return "", before
    entry, arguments = commands.find(rest)
    if arguments and f"{entry.name} {arguments[0]}" in table:
        return f"{entry.name} {arguments[0]}", arguments[1:]
    return entry.name, arguments


def _find_place(spec: dict[str, Any], given: list[str]) -> _Place:
    """Walk through the words of a command to the one that is typed."""
    options, arguments = spec.get("options", {}), spec.get("arguments", [])
    taking, count = None, 0
    for index, word in enumerate(given):
        if taking is not None:
            taking = None
        elif word == "--":
            behind = given[index + 1 :]
            kind = None if not spec.get("runs") else "file" if behind else "program"
            return _Place(spec, given, kind, closed=True)
        elif word.startswith("-") and len(word) > 1:
            taking = options.get(word, {}).get("takes")
        else:
            count += 1
    if taking is not None:
        return _Place({**spec, "wants_value": True}, given, taking, closed=False)
    if any(options.get(word, {}).get("one_shot") for word in given):
        return _Place(spec, given, None, closed=False)
    is_last = bool(arguments) and count >= len(arguments)
    return _Place(spec, given, _last(spec) if is_last else arguments[count] if arguments else None, closed=False)


def _last(spec: dict[str, Any]) -> str | list[str] | None:
    return spec["arguments"][-1] if spec.get("repeats") else None


def _is_value(place: _Place) -> bool:
    return bool(place.spec.get("wants_value"))


def _split_value(begin: str, place: _Place) -> tuple[str, str]:
    """Split `--option=begin` of a value."""
    option, equals, value = begin.partition("=")
    takes = equals and not place.closed and place.spec.get("options", {}).get(option, {}).get("takes")
    return (f"{option}=", value) if takes else ("", begin)


def _options(place: _Place, name: str) -> list[Offer]:
    given = {word.split("=")[0] for word in place.given}
    offers = [
        (option, one["help"])
        for option, one in place.spec.get("options", {}).items()
        if not one.get("older") and (option not in given or one.get("repeats"))
    ]
    return offers if name or place.given else [*offers, *_OF_THE_APP.items()]


def _commands(table: dict[str, Any], name: str, given: list[str], begin: str) -> list[Offer]:
    """Return the commands, or the verbs of a noun, where one can stand."""
    if any(not word.startswith("-") for word in given):
        return []
    depth = f"{name} " if name else ""
    return [
        (word, spec["summary"])
        for command, spec in table.items()
        if command.startswith(depth) and (word := command[len(depth) :]) and word.startswith(begin) and " " not in word
    ]


def _values(kind: str | list[str] | None, begin: str, words: list[str]) -> list[Offer]:
    if isinstance(kind, list):
        return [(word, "") for word in kind if word.startswith(begin)]
    if kind is None or kind == "text":
        return []
    if kind in _PATHS:
        return [(_PATHS[kind], "")]
    folders = _folder(words, "--models-dir"), _folder(words, "--agents-dir")
    paths = from_environment()
    return [one for part in kind.split("|") for one in completion.values(paths, part, begin, folders)]


def _folder(words: list[str], option: str) -> Path | None:
    for index, word in enumerate(words[:-1]):
        if word == option:
            return Path(words[index + 1])
        if word.startswith(f"{option}="):
            return Path(word.partition("=")[2])
    return None


def _join_values(words: list[str]) -> list[str]:
    """Join `--option`, `=`, `value`, which bash hands over as three words."""
    joined: list[str] = []
    for index, word in enumerate(words):
        if word == "=" and joined and joined[-1].startswith("--"):
            joined[-1] += "="
        elif index and words[index - 1] == "=" and joined and joined[-1].endswith("="):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _format(offers: list[Offer], shell: str) -> list[str]:
    """Write a line a word, quoted for bash; a word that a terminal would obey is left out."""
    plain = [(word, visible_line(text)) for word, text in offers if word.isprintable()]
    if shell != "bash":
        return [f"{word}\t{text}" if text else word for word, text in plain]
    import shlex  # noqa: PLC0415 - 3 ms, only here

    # bash has cut `--option=` off already
    words = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word, _ in plain]
    return [word if word.startswith(":") else shlex.quote(word) for word in words]
