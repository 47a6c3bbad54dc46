"""The names of models in what a CLI prints (contract, section 13). Pure."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{1,99}")
_BULLET = re.compile(r"[ \t]*(?:[-*+•●○·>│|]+[ \t]+|\d{1,3}[.)][ \t]+)*")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HEADER = re.compile(r"[^:]*:[ \t]*|[^\w]*", re.ASCII)  # a line that ends in a colon, or has no letter
_NO_NAMES = """
a an and are available by command commands configured default description error examples flags for from help id ids list
model models name names no of options or provider providers select supported the this to type usage use version warning
with you your
"""
_WORDS = frozenset(_NO_NAMES.split())
_LONGEST = 256 << 10  # characters that are looked at


def is_model_name(name: str) -> bool:
    """Tell whether a word can be the name of a model."""
    return (
        _NAME.fullmatch(name) is not None
        and any(letter.isalpha() for letter in name)
        and name.rstrip(":").lower() not in _WORDS
        and not name.endswith(":")
    )


def model_names(text: str) -> tuple[str, ...]:
    """Return the names that a listing begins its lines with, sorted."""
    found: set[str] = set()
    for line in _ESCAPE.sub("", text[:_LONGEST]).splitlines():
        if _HEADER.fullmatch(line) is None:
            words = _BULLET.sub("", line, count=1).split(maxsplit=1)
            found.update(word for word in words[:1] if is_model_name(word))
    return tuple(sorted(found))


def model_names_in_help(text: str) -> tuple[str, ...]:
    """Return the same of a help text: lines of one begin with commands too, so a name has to have a digit."""
    return tuple(name for name in model_names(text) if any(letter.isdecimal() for letter in name))
