"""What a line of a live session is: a message, or a command of ours, of its CLI, or of a prompt file. Pure.

    /name words   a command: ours, a prompt's of a file or a package, an extension's or the CLI's; no other is sent
    //name        the message `/name`
    anything else a message

Only a first line that begins with a slash and a letter counts, so that `/ 2` and `// a comment` are messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.slash.table import SLASHES, Slash
from oulipoly_engine.core.text.nearest import nearest

_COMMAND = re.compile(r"/(?=[^\W\d_])(\S+)(.*)", re.DOTALL)
_ESCAPED = re.compile(r"//+[^\W\d_]")
_PLACE = re.compile(r"\$?\$(ARGUMENTS\b|[1-9](?!\d))")
_LONGEST_NAME = 40  # that a refusal says


class Prompt(NamedTuple):
    """A prompt file: its text is the message, with the arguments put in."""

    name: str
    text: str
    description: str = ""
    prefix: str = "prompt"  # of its long name; of a package's prompt the package

    def fill(self, words: str) -> str:
        """Return the message: `$ARGUMENTS` and `$1` to `$9` are replaced, `$$1` stays `$1`; else words go behind it."""
        parts = words.split()

        def put(place: re.Match[str]) -> str:
            name = place[1]
            if place[0].startswith("$$"):
                return place[0][1:]
            if name == "ARGUMENTS":
                return words
            return parts[int(name) - 1] if int(name) <= len(parts) else ""

        if words and not _PLACE.search(self.text):
            return f"{self.text.rstrip()}\n\n{words}"
        return _PLACE.sub(put, self.text)


class CliCommand(NamedTuple):
    """A command that the session's CLI has told of."""

    name: str
    description: str = ""


class OfExtension(NamedTuple):
    """A command of an extension."""

    extension: str
    name: str
    description: str = ""


class Known(NamedTuple):
    """What a session knows beside our own commands."""

    prompts: Sequence[Prompt] = ()
    cli: Sequence[CliCommand] = ()
    extensions: Sequence[OfExtension] = ()  # by the names of extensions


class Message(NamedTuple):
    """A text for the agent."""

    text: str


class Order(NamedTuple):
    """A command of ours."""

    slash: Slash
    words: tuple[str, ...] = ()  # behind it, at most as many as it takes


class Refusal(NamedTuple):
    """A line that is neither done nor sent."""

    reason: str


Line = Message | Order | Refusal
Entry = Slash | Prompt | CliCommand | OfExtension
_ARGUMENTS = (Argument("arguments", is_rest=True, is_optional=True),)
_NOTHING = Known()


def judge(text: str, known: Known = _NOTHING) -> Line:
    """Return what a line is."""
    if _ESCAPED.match(text):
        return Message(text[1:])
    command = _COMMAND.match(text)
    if command is None:
        return Message(text)
    name = command[1]
    rest = command[2].strip()
    match _find(name, rest, known):
        case Slash() as slash:
            words = split_words(rest, slash.arguments)
            return Order(slash, words) if len(words) <= len(slash.arguments) else Refusal(f"write {slash.usage}")
        case Prompt() as prompt:
            return Message(prompt.fill(rest))
        case OfExtension() as command_of:
            slash = Slash(f"{command_of.extension}:{command_of.name}", "ext run", takes=_ARGUMENTS)
            return Order(slash, (rest,) if rest else ())
        case CliCommand() as of_cli:
            return Message(f"/{of_cli.name}{command[2]}")
        case None:
            return Refusal(_describe_unknown(name, known))


def _find(name: str, rest: str, known: Known) -> Entry | None:
    entry = map_names(known).get(name)
    if isinstance(entry, Slash) and (entry.yields == "always" or (entry.yields == "with words" and rest)):
        return next((command for command in known.cli if command.name == name), entry)
    return entry


def _describe_unknown(name: str, known: Known) -> str:
    near = nearest(name, map_names(known), limit=3)
    hint = f"did you mean {' or '.join(f'/{each}' for each in near)}?" if near else "see /help;"
    shown = name[:_LONGEST_NAME]
    return f"there is no command /{shown}: {hint} //{shown} sends it"


def map_names(known: Known) -> Mapping[str, Entry]:
    """Return all that may stand behind the slash: a name is the first one's that has it; prefixes tell the others."""
    names: dict[str, Entry] = {name: slash for slash in SLASHES for name in (slash.name, *slash.aliases)}
    others: tuple[Prompt | CliCommand | OfExtension, ...] = (*known.prompts, *known.extensions, *known.cli)
    for entry in others:
        names.setdefault(entry.name, entry)
    for entry in others:
        names.setdefault(f"{_prefix_of(entry)}:{entry.name}", entry)
    return names


def _prefix_of(entry: Prompt | CliCommand | OfExtension) -> str:
    match entry:
        case Prompt():
            return entry.prefix
        case OfExtension():
            return entry.extension
        case CliCommand():
            return "cli"


def list_offers(known: Known, begun: str = "") -> Iterator[tuple[str, str]]:
    """Yield each name that begins so, ours first, and what it does; aliases only where they are begun."""
    names = map_names(known)
    typed = begun.casefold()
    for name, entry in sorted(names.items(), key=lambda item: (not isinstance(item[1], Slash), item[0])):
        if name.casefold().startswith(typed) and _is_offered(name, entry, names, typed):
            yield name, _describe(name, entry, known)


def _is_offered(name: str, entry: Entry, names: Mapping[str, Entry], typed: str) -> bool:
    if name == entry.name:
        return True
    if isinstance(entry, Slash):
        return bool(typed)
    taker = names[entry.name]
    is_reached = taker is entry or (isinstance(taker, Slash) and taker.yields == "always")
    return not is_reached or ":" in typed


def _describe(name: str, entry: Entry, known: Known) -> str:
    """Return what a name does, and what is written behind it."""
    if not isinstance(entry, Slash):
        return entry.description
    if entry.yields == "always":
        return next((command.description for command in known.cli if command.name == name), _summarize(entry))
    return _summarize(entry)


def _summarize(slash: Slash) -> str:
    return f"{slash.does.summary}: {slash.usage}" if slash.arguments else slash.does.summary


def split_words(text: str, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """Return what stands behind a command: quotes hold words together, and a last argument may take all the rest."""
    if arguments and arguments[-1].is_rest:
        return tuple(text.split(maxsplit=len(arguments) - 1))
    import shlex  # noqa: PLC0415 - only what is typed needs it

    try:
        return tuple(shlex.split(text))
    except ValueError:  # an open quote
        return tuple(text.split())
