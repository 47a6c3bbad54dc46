"""What the composer completes: `/commands` at the beginning of a message, `@paths` anywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from oulipoly_engine.core.commands.table import find
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Row, fit_text

MOST = 200
_COMMAND = re.compile(r"/([\w:.-]*)")
_FILE = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_REVIEW = "review"  # a CLI that has it itself gets it as typed
OWN_COMMANDS: Mapping[str, str] = {  # those of ours, which no CLI is given -> their names in the table
    "compact": "session compact",
    "review": "session review",
    "rename": "session name",
    "fork": "session fork",
    "model": "session model",
    "queue": "session queue",
    "interrupt": "session interrupt",
    "resume": "turn resume",
    "close": "session close",
}


class Wanted(Record):
    """What is being typed that can be completed."""

    kind: str  # command, file
    begun: str  # without its sign
    start: int  # where it begins in the text before the cursor, its sign included


class Completion(Record):
    """One way to complete it."""

    text: str  # that takes its place
    note: str = ""


def find_wanted(before: str) -> Wanted | None:
    """Return what the text before the cursor begins; None: nothing that can be completed."""
    found = _COMMAND.fullmatch(before)
    if found is not None:
        return Wanted("command", found[1], 0)
    found = _FILE.search(before[-1000:])
    if found is None:
        return None
    return Wanted("file", found[1], len(before) - len(found[0]))


def complete_command(begun: str, commands: Sequence[tuple[str, str]]) -> tuple[Completion, ...]:
    """Return the commands that begin so, ours first."""
    clis = dict(commands)
    own = {name: _note(name) for name in OWN_COMMANDS if not (name == _REVIEW and name in clis)}
    every = (*own.items(), *((name, note) for name, note in commands if name not in own))
    fits = [Completion(f"/{name} ", note) for name, note in every if name.casefold().startswith(begun.casefold())]
    return tuple(fits[:MOST])


def _note(name: str) -> str:
    """Return what a command of ours does, and what is written behind it."""
    command = find(OWN_COMMANDS[name])
    words = [argument.name.upper() for argument in command.arguments[1:]]  # the first one is what is open
    return f"{command.summary}: /{name} {' '.join(words)}" if words else command.summary


def complete_file(begun: str, names: Sequence[tuple[str, bool]]) -> tuple[Completion, ...]:
    """Return the files of a folder that begin so. names: what the folder holds, and whether it is a folder itself."""
    folder, slash, name = begun.rpartition("/")
    fits = sorted(
        (not is_folder, one, is_folder)
        for one, is_folder in names
        if one.casefold().startswith(name.casefold())
        and (name.startswith(".") or not one.startswith("."))
        and not re.search(r"\s", one)
    )
    return tuple(Completion(f"@{folder}{slash}{one}{'/' if is_folder else ' '}") for _, one, is_folder in fits[:MOST])


def folder_of(begun: str) -> str:
    """Return the folder that a begun path lies in, below the workspace."""
    return begun.rpartition("/")[0]


def completion_rows(found: Sequence[Completion], width: int) -> tuple[Row, ...]:
    """Return the rows of the list above the composer."""
    longest = min(max((len(one.text) for one in found), default=0), width // 2)
    return tuple(
        Row(
            str(place),
            ((fit_text(visible_line(one.text.rstrip()), longest), ""), (f"  {visible_line(one.note)}", "dim")),
        )
        for place, one in enumerate(found)
    )


def own_command(text: str, commands: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the command of ours that a message is, and what stands behind it; None: it is for the CLI.

    commands: the CLI's own. Its review takes what ours does not, and so does its compaction with words behind it.
    """
    if not text.startswith("/") or "\n" in text:
        return None
    name, _, rest = text[1:].partition(" ")
    rest = rest.strip()
    if name in dict(commands) and (name == _REVIEW or (name == "compact" and rest)):
        return None
    return (name, rest) if name in OWN_COMMANDS else None
