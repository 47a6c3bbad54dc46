"""Hide secrets in configuration that is about to be shown. Pure.

What a secret looks like is the redactor's business; this adds variables that are secret by their name alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from oulipoly_engine.core.text.json_splice import blank_comments
from oulipoly_engine.core.text.redact import REDACTED, redact_argv, redact_strictly

_DOTS = "•••"
_LONG = 12  # characters from which on the last four may be shown, so that people can tell two keys apart
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORD = re.compile(
    r"(?:api)?keys?|tokens?|secrets?|passw(?:or)?d|passphrase|pwd|credentials?|auth(?:orization)?|cookie|pat",
    re.IGNORECASE,
)


def mask(secret: str) -> str:
    """Return what stands for a secret: dots, and its last four characters when it is long."""
    return _DOTS + (secret[-4:] if len(secret) >= _LONG else "")


def text(value: str) -> str:
    """Hide every secret inside a text, such as a shell line; bare tokens too, since hiding too much is harmless."""
    return redact_strictly(value).replace(REDACTED, _DOTS)


def lines(value: str, documents: Iterable[str]) -> str:
    """Hide every secret inside a text that has lines of TOML or JSON documents, such as their difference.

    A line alone does not tell that its word stands behind `--api-key` on the line above: the documents do.
    """
    return text(_hide_known(value, documents))


def old_lines(value: str, documents: Iterable[str]) -> str:
    """Do the same in a unified diff, but leave new lines as they are, save for what the documents have.

    Who agrees to a stranger's text has to see all of it: 40 characters that look drawn may be a script in Base64.
    """
    diff = _hide_known(value, documents).splitlines(keepends=True)
    runs = groupby(diff, key=lambda line: line.startswith("+"))
    return "".join("".join(run) if is_new else text("".join(run)) for is_new, run in runs)


def _hide_known(value: str, documents: Iterable[str]) -> str:
    found: set[str] = set()
    for document in documents:
        with suppress(ValueError, RecursionError):
            is_json = document.lstrip().startswith(("{", "//", "/*"))
            found.update(_secrets(json.loads(blank_comments(document)) if is_json else tomllib.loads(document)))
    for secret in sorted(found, key=len, reverse=True):
        for written in (f'"{secret}"', f"'{secret}'", json.dumps(secret, ensure_ascii=False)):
            value = value.replace(written, f'"{_DOTS}"')
    return value


def document(values: Mapping[str, Any]) -> dict[str, Any]:
    """Hide the secrets in a document, as variables and argument lists are hidden."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, str):
            found |= variables({name: value})
        elif isinstance(value, Mapping):
            found[name] = document(value)
        elif isinstance(value, list):
            is_plain = all(isinstance(one, str) for one in value)
            found[name] = words(value) if is_plain else [document({name: one})[name] for one in value]
        else:
            found[name] = value
    return found


def _secrets(data: object) -> Iterator[str]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            if isinstance(value, str) and variables({name: value})[name] != value:
                yield value
            yield from _secrets(value)
    elif isinstance(data, list):
        plain = [word for word in data if isinstance(word, str)]
        yield from (word for word, hidden in zip(plain, words(plain), strict=True) if word != hidden)
        for value in data:
            yield from _secrets(value)


def words(values: Sequence[str]) -> list[str]:
    """Hide every secret in an argument list, the value after a flag that names one included."""
    return [value.replace(REDACTED, _DOTS) for value in redact_argv(values)]


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """Hide the secrets among environment variables, by name and by look; hiding too much is harmless."""
    return {name: mask(value) if _names_secret(name) else text(value) for name, value in values.items()}


def _names_secret(name: str) -> bool:
    return any(_SECRET_WORD.fullmatch(word) for word in _WORDS.findall(name))
