"""Arguments of the user's own in a live launch, and those that belong to us. Pure (contract, B.6).

What decides how a CLI speaks, which session it opens, what it may do without asking and what it is extended by is said
by the driver and by the permission profile: an argument that says it as well is refused. The error names the option
and its place, never what is given to it: that may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.core.live.wires.wire import Syntax
from oulipoly_engine.errors import ArgumentReserved
from oulipoly_engine.records import Record

_WORD = "a word that belongs to no option"  # in place of an option's name


class Reserved(Record):
    """An argument that is ours to give."""

    index: int  # among the arguments, from 0
    option: str  # as the CLI calls it, without its value

    @property
    def text(self) -> str:
        """Return what is wrong, without any value."""
        return f"argument {self.index + 1} is {self.option}, which live sessions set themselves"


def list_reserved(kind: str, words: Sequence[str], more: Sequence[str] = ()) -> tuple[Reserved, ...]:
    """Return the arguments that are ours to give. kind: of the runtime. more: further options that are reserved."""
    return tuple(_scan(WIRES[kind].syntax, words, frozenset(more)))


def refuse_reserved(runtime: str, kind: str, words: Sequence[str], more: Sequence[str] = ()) -> None:
    """Raise ArgumentReserved for the first argument that is ours to give; its message has no value in it."""
    found = next(_scan(WIRES[kind].syntax, words, frozenset(more)), None)
    if found is not None:
        message = f"runtime {runtime!r}: {found.text}: remove it from its arguments"
        raise ArgumentReserved(message, runtime_id=runtime, index=found.index, option=found.option)


def drop_reserved(kind: str, words: Sequence[str], more: Sequence[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the arguments without those that are ours to give, and the names of those; values go with their option."""
    kept: list[str] = []
    dropped: list[str] = []
    for group in list_options(kind, words):
        found = next(_scan(WIRES[kind].syntax, group, frozenset(more)), None)
        if found is None:
            kept += group
        else:
            dropped.append(found.option)
    return tuple(kept), tuple(dropped)


def list_options(kind: str, words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the arguments in groups: an option with its values, or a word that belongs to none."""
    groups, position = [], 0
    while position < len(words):
        end = position + 1 + _count_values(WIRES[kind].syntax, words, position)
        groups.append(tuple(words[position:end]))
        position = end
    return tuple(groups)


def _scan(syntax: Syntax, words: Sequence[str], more: frozenset[str]) -> Iterator[Reserved]:
    position = 0
    while position < len(words):
        option = _find_reserved(syntax, words, position, more)
        if option is not None:
            yield Reserved(position, option)
        position += 1 + _count_values(syntax, words, position)


def _find_reserved(syntax: Syntax, words: Sequence[str], position: int, more: frozenset[str]) -> str | None:
    """Return the name under which a word is refused; None: it may stay."""
    word = words[position]
    if word in syntax.words:
        return word
    if not word.startswith("-") or word == "-":
        return _WORD if syntax.forbids_words else None
    name, value = _split(word)
    reserved = syntax.reserved | more
    if name in reserved or name.startswith(syntax.prefixes):
        return name
    if name in syntax.config:
        following = words[position + 1] if position + 1 < len(words) else ""
        return _find_key(syntax, name, following if value is None else value)
    return None


def _find_key(syntax: Syntax, name: str, assignment: str) -> str | None:
    key = assignment.partition("=")[0].strip()
    parts = [part.strip().strip("\"'") for part in key.split(".")]
    return f"{name} {parts[0]}" if parts[0] in syntax.config_reserved else None


def _split(word: str) -> tuple[str, str | None]:
    """Split an option from the value that hangs on it: `--config=x`, `-cx`, `-c=x`."""
    if word.startswith("--"):
        name, is_given, value = word.partition("=")
        return name, value if is_given else None
    return word[:2], word[2:].removeprefix("=") or None


def _count_values(syntax: Syntax, words: Sequence[str], position: int) -> int:
    """Return how many of the words behind an option are its values."""
    word = words[position]
    if not word.startswith("-") or word in ("-", "--"):
        return 0
    name, value = _split(word)
    if value is not None:
        return 0
    following = 0
    while position + 1 + following < len(words) and not _is_option(words[position + 1 + following]):
        following += 1
    if name in syntax.listed:
        return following
    if name in syntax.valued or name in syntax.config:  # its value may begin with a dash
        return min(1, len(words) - position - 1)
    # Of one that nobody knows, the next word may be its value; of a reserved one all go with it.
    return following if name in syntax.reserved else min(1, following)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"
