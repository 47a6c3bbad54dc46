"""One kind of secret that is known by what stands around it, and how it is taken out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from oulipoly_engine.core.text.secrets.values import is_ordinary, is_reference
from oulipoly_engine.late_pattern import LatePattern

REDACTED = "[redacted]"
STRING_PREFIX = r"""(?:[rbfuRBFU]{1,2}(?=["']))?"""
# What stands behind a name: a sign, and a value with or without quotes.
SIGN_AND_VALUE = rf"""
        (?P<sep>\\{{0,3}}["']?\]?(?:\*\*)?[ \t\u00a0]{{0,4}}
            (?:(?::[ ]?(?:str|[Ss]tring|bytes|&(?:'static[ ])?str)(?:[ ]?\|[ ]?None)?[ ]?=)|:=|=>|[=!]==?|[:=\uff1a])
            (?:\*\*)?[ \t\u00a0]{{0,4}}{STRING_PREFIX})
        (?:
            (?P<escaped>\\{{1,7}}["'])(?P<in_escaped>[^"'\\\r\n]+)
          | "(?P<in_double>(?:[^"\\\r\n]|\\.)+)
          | '(?P<in_single>(?:[^'\\\r\n]|\\.)+)
          | (?<!=)`(?P<in_code>[^`\r\n]+)(?=`)
          | (?P<bare>(?i:\[redacted\])?[^\s"'\x1b`,;&(){{}}\[\]<>\\]*)
        )"""


class Rule(NamedTuple):
    """One kind of secret."""

    kind: str
    needs: tuple[str, ...]  # one of them is in every text that has one, in small letters
    apply: Callable[[str], str]  # takes the secrets of this kind out of a text
    is_in_line: bool = False  # no secret of this kind goes over a line's end, nor does what tells it
    gate: str = ""  # is in every such text too; where it is not, the needs are not looked for one by one


def rule(kind: str, needs: tuple[str, ...], pattern: LatePattern, change: Callable[[re.Match[str]], str]) -> Rule:
    """Return a rule that is tried on all of a text that has one of its needs."""
    return Rule(kind, needs, lambda text: pattern.sub(change, text))


def line_rule(
    kind: str, needs: tuple[str, ...], pattern: LatePattern, change: Callable[[re.Match[str]], str], *, gate: str = ""
) -> Rule:
    """Return a rule that is tried only near its needs, however long the text is."""
    return Rule(kind, needs, lambda text: pattern.sub(change, text), is_in_line=True, gate=gate)


def rare_rule(
    kind: str,
    needs: tuple[str, ...],
    words: tuple[str, ...],
    pattern: LatePattern,
    change: Callable[[re.Match[str]], str],
) -> Rule:
    """Return a rule that is tried where one of the words is too: texts without its needs are not searched for those."""

    def apply(text: str) -> str:
        return pattern.sub(change, text) if any(word in text for word in words) else text

    return Rule(kind, needs, apply)


def take_out(found: re.Match[str], group: str = "value") -> str:
    """Return a match with one of its groups redacted."""
    begin, end = found.start(group) - found.start(), found.end(group) - found.start()
    return found[0][:begin] + REDACTED + found[0][end:]


def keep_reference(value: str) -> str:
    """Return a value that only says where the secret is, and what stands for any other."""
    return value if is_reference(value) else REDACTED


def take_out_value(found: re.Match[str]) -> str:
    """Return a match with its value redacted, unless that is an ordinary word or a reference."""
    value = found["value"].strip()
    is_none = is_ordinary(value.partition(" ")[0]) or value.startswith(("{", "$"))
    return found[0] if is_none else take_out(found)


def value_of(found: re.Match[str]) -> tuple[str, str]:
    """Return the name of the group that holds the value, and the value."""
    groups = ("in_escaped", "in_double", "in_single", "in_code")
    group = next((name for name in groups if found[name]), "bare")
    return group, found[group] or ""
