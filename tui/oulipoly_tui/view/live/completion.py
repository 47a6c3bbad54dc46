"""What the composer completes: `/commands` at the beginning of a message, `@paths` anywhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.slash.lines import Known, list_offers, map_names, split_words
from oulipoly_engine.core.commands.slash.table import Slash
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Row, fit_text

MOST = 200
_COMMAND = re.compile(r"/([\w:.-]*)")
_FILE = re.compile(r"(?:^|(?<=\s))@(\S*)$")
Complete = Callable[[Sequence[Argument], Sequence[str], bool], Sequence[str]]
_WORDS = re.compile(r"/(\S+ [^\n]*)")


class Wanted(Record):
    """What is being typed that can be completed."""

    kind: str  # command, words behind one, file
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
        words = _WORDS.fullmatch(before)
        return None if words is None else Wanted("words", words[1], 0)
    return Wanted("file", found[1], len(before) - len(found[0]))


def complete_command(begun: str, known: Known) -> tuple[Completion, ...]:
    """Return the commands that begin so, ours first."""
    return tuple(Completion(f"/{name} ", note) for name, note in islice(list_offers(known, begun), MOST))


def complete_words(begun: str, known: Known, complete: Complete) -> tuple[Completion, ...]:
    """Return what the words behind a command of ours can become; nothing once they are whole.

    complete: what words of arguments may become, as the `:` line has it.
    """
    name, _, rest = begun.partition(" ")
    slash = map_names(known).get(name)
    if not isinstance(slash, Slash):
        return ()
    texts = complete(slash.arguments, split_words(rest, slash.arguments), not rest or rest.endswith(" "))
    whole_lines = [f"/{name} {text}" for text in texts]
    return () if f"/{begun}" in whole_lines else tuple(Completion(line) for line in whole_lines[:MOST])


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
