"""Command lines of the demo CLI, read by a table, with each vendor's own complaint. Pure.

argparse would cost 10 ms a start and could say none of the vendors' sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TONES = ("plain", "cheerful", "pirate")


class OptionWrong(Exception):
    """A command line that the real CLI would refuse as well; the message is the whole sentence."""


class Syntax(NamedTuple):
    """What a vendor's CLI accepts."""

    vendor: str
    valued: frozenset[str]  # options that take one value
    flags: frozenset[str]
    variadic: frozenset[str] = frozenset()  # options that take every word up to the next option
    short: tuple[tuple[str, str], ...] = ()  # short form, long form


class Parsed(NamedTuple):
    """A command line, taken apart."""

    values: dict[str, tuple[str, ...]]  # long name -> every value given
    positionals: tuple[str, ...]

    def last(self, name: str) -> str | None:
        """Return the value that counts, or None when the option was not given."""
        return self.values[name][-1] if self.values.get(name) else None

    def has(self, name: str) -> bool:
        """Tell whether a flag was given."""
        return name in self.values


class Style(NamedTuple):
    """How an answer is to sound: the demo models' typed inputs."""

    tone: str = "plain"
    lines: int = 0  # 0: as many as the answer has
    topics: tuple[str, ...] = ()
    temperature: float = 0.0  # 0..1: picks another of the canned turns of phrase
    emoji: bool = False
    title: str = ""


STYLE_OPTIONS = frozenset({"--tone", "--lines", "--topic", "--temperature", "--emoji", "--title"})


def parse(argv: Sequence[str], syntax: Syntax) -> Parsed:
    """Take a command line apart; raises OptionWrong on an unknown option or a missing value."""
    values: dict[str, tuple[str, ...]] = {}
    positionals: list[str] = []
    words = list(argv)
    long_of = dict(syntax.short)
    while words:
        word = words.pop(0)
        if word == "--":
            positionals += words
            break
        if word == "-" or not word.startswith("-"):
            positionals.append(word)
            continue
        name, equals, attached = word.partition("=")
        name = long_of.get(name, name)
        if name in syntax.flags and not equals:
            values[name] = ()
        elif name in syntax.valued or name in syntax.variadic:
            values_taken = (attached,) if equals else _take(words, name, syntax)
            values[name] = (*values.get(name, ()), *values_taken)
        else:
            raise OptionWrong(_unknown(syntax.vendor, word))
    return Parsed(values, tuple(positionals))


def style_of(parsed: Parsed, vendor: str) -> Style:
    """Read the style options; raises OptionWrong on a value that breaks its rule."""
    tone = parsed.last("--tone") or "plain"
    if tone not in TONES:
        raise OptionWrong(_invalid(vendor, "--tone", tone, f"Allowed choices are {', '.join(TONES)}."))
    return Style(
        tone=tone,
        lines=int(_number(parsed, vendor, "--lines", is_integer=True)),
        topics=parsed.values.get("--topic", ()),
        temperature=_number(parsed, vendor, "--temperature", is_integer=False),
        emoji=(parsed.last("--emoji") or "").lower() in ("true", "1", "yes"),
        title=parsed.last("--title") or "",
    )


def _take(words: list[str], name: str, syntax: Syntax) -> tuple[str, ...]:
    if name in syntax.variadic:
        values_taken = []
        while words and not words[0].startswith("-"):
            values_taken.append(words.pop(0))
        return tuple(values_taken)
    if not words:
        raise OptionWrong(_missing(syntax.vendor, name))
    return (words.pop(0),)


def _number(parsed: Parsed, vendor: str, name: str, *, is_integer: bool) -> float:
    text = parsed.last(name)
    if text is None:
        return 0.0
    try:
        return int(text) if is_integer else float(text)
    except ValueError:
        raise OptionWrong(_invalid(vendor, name, text, "It must be a number.")) from None


def _unknown(vendor: str, word: str) -> str:
    return f"error: unknown option '{word}'" if vendor == "claude" else f"error: unexpected argument '{word}' found"


def _missing(vendor: str, name: str) -> str:
    if vendor == "claude":
        return f"error: option '{name} <value>' argument missing"
    return f"error: a value is required for '{name} <VALUE>' but none was supplied"


def _invalid(vendor: str, name: str, value: str, rule: str) -> str:
    if vendor == "claude":
        return f"error: option '{name} <value>' argument '{value}' is invalid. {rule}"
    return f"error: invalid value '{value}' for '{name} <VALUE>': {rule}"
