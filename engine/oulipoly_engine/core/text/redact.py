"""The one redactor: take secrets out of text before it is shown, stored or sent. Pure.

It knows secrets by what stands around them (`secret_rules.py`) and by their form (`secret_shapes.py`). Whether a value
is one at all, `secret_values.py` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from oulipoly_engine.core.text.late_pattern import LatePattern
from oulipoly_engine.core.text.secret_rules import (
    HEADER_OF_ONE,
    NAME_OF_ONE,
    RULES,
    SHORT_FLAGS,
    is_secret_of_flag,
    keep_reference,
    take_out,
)
from oulipoly_engine.core.text.secret_rules import REDACTED as REDACTED
from oulipoly_engine.core.text.secret_shapes import ANY_DOTTED, DOTTED, SHAPES, Shape
from oulipoly_engine.core.text.secret_values import is_ordinary, is_random

# A removed secret can bring a name and a value together that did not touch before, so passes go on until nothing
# changes. Three were the most that 150,000 random mixtures of secrets and quotes needed; the bound is for hostile
# text.
_MOST_PASSES = 10
_STRETCH = 2048  # characters, up to the end of a line: rules are tried only where a stretch has what they need
# What a secret may need that stands in another line.
_SEVERAL_LINES = LatePattern(
    r"-BEGIN |- BEGIN |:[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n|\\\r?\n|login[ \t]{1,4}\S{1,128}[ \t]*\n"
    r"|A(?:KI|SI|BI|CC)A[0-9A-Z]{16}|Private-Lines:"
)
_RULE_NEEDS = frozenset(need for rule in RULES for need in rule.needs)
# A token that begins with its prefix is looked for by its first three characters, at the beginnings of words that are
# long enough, also behind what `secret_shapes` takes for no part of a word.
_START = 3
_PREFIXED: dict[str, list[Shape]] = {}
for _row in SHAPES:
    for _need in _row.needs if _row.is_prefix else ():
        _PREFIXED.setdefault(_need[:_START], []).append(_row)
_STARTS = frozenset(_PREFIXED)
_WORD_STARTS = LatePattern(r"(?<![A-Za-z0-9_-])[A-Za-z0-9][A-Za-z0-9/][A-Za-z0-9_./-](?=[A-Za-z0-9_.:+/~%-]{8})")
_ESCAPED_STARTS = LatePattern(r"(?:\\[bfnrtv]|[\[;0-9]m|%[0-9A-Fa-f]{2})([A-Za-z0-9][A-Za-z0-9/][A-Za-z0-9_./-])")
_LEAST_SHAPE = 11  # characters: `sk-ant-` and four more
_ANYWHERE = tuple(shape for shape in SHAPES if not shape.is_prefix)
_LEAST_ANYWHERE = 24  # characters
_NEEDS_ANYWHERE = frozenset(need for shape in _ANYWHERE for need in shape.needs)

_FLAG_WORD = LatePattern(
    rf"-{{1,2}}[\w-]{{0,60}}{NAME_OF_ONE}|--?(?:header|user)|-H|--(?:proxy-user|{'|'.join(SHORT_FLAGS)})", re.IGNORECASE
)
# Whose a short flag has to be for a secret to follow it, and its long form.
_SHORT_FLAGS = {"-u": ("curl", "--user"), "-U": ("curl", "--proxy-user"), "-p": ("sshpass", "--password")}
_AUTH_HEADER = LatePattern(rf"{HEADER_OF_ONE}:[ ]{{0,4}}(?P<value>.+)", re.IGNORECASE | re.DOTALL)
_BARE = LatePattern(r"[A-Za-z0-9_+/=~.-]{32,}")
_UUID = LatePattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted]`; redacting twice changes nothing more."""
    if len(text) <= _STRETCH or _SEVERAL_LINES.search(text) is not None:
        return _redact_stretch(text)
    return "".join(_redact_stretch(stretch) for stretch in _stretches(text))


def redact_strictly(text: str) -> str:
    """Return the text without secrets, and without anything else that looks drawn and has 32 characters or more.

    For short messages of scripts that handle logins: there a false alarm costs a hash, in a transcript it would cost
    every commit and checksum. UUIDs stay: vendors name requests by them.
    """
    return _BARE.sub(_bare, redact(text))


def _bare(found: re.Match[str]) -> str:
    run = found[0]
    pieces = re.split(r"[/.=+~]", run) if run[0] in "/~." or "//" in run else [run]
    is_secret = any(len(piece) >= 32 and not _UUID.fullmatch(piece) and is_random(piece) for piece in pieces)
    return REDACTED if is_secret else run


def _stretches(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _STRETCH) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _redact_stretch(text: str) -> str:
    for _ in range(_MOST_PASSES):
        shown = _pass(text)
        if shown == text:
            break
        text = shown
    return text


def _pass(text: str) -> str:
    # What a rule cannot do without is looked for first: most texts have none of it, and compile no pattern either.
    needs = _find_words(_RULE_NEEDS, _fold(text))
    if needs:
        for rule in RULES:
            if not needs.isdisjoint(rule.needs):
                text = rule.apply(text)
    if len(text) < _LEAST_SHAPE:
        return text
    starts = _STARTS.intersection(_WORD_STARTS.findall(text))
    if "\\" in text or "%" in text or "\x1b" in text:
        starts = starts.union(_STARTS.intersection(_ESCAPED_STARTS.findall(text)))
    for start in sorted(starts):
        for shape in _PREFIXED[start]:
            if any(map(text.__contains__, shape.needs)):
                text = _take_out_shape(text, shape)
    needs = _find_words(_NEEDS_ANYWHERE, text) if len(text) >= _LEAST_ANYWHERE else set()
    if needs:
        for shape in _ANYWHERE:
            if not needs.isdisjoint(shape.needs):
                text = _take_out_shape(text, shape)
    if "." in text and ANY_DOTTED.search(text) is not None:
        for shape in DOTTED:
            text = _take_out_shape(text, shape)
    return text


def _find_words(words: Iterable[str], text: str) -> set[str]:
    """Return those words that are in a text. One pattern for all of them is no faster, and takes 1 ms to compile."""
    return {word for word in words if word in text}


def _fold(text: str) -> str:
    """Return a text in small letters, with an i and an s for what a pattern that ignores case takes for them."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    return folded.replace("\u0131", "i").replace("\u0307", "")


def _take_out_shape(text: str, shape: Shape) -> str:
    has_place = "value" in shape.pattern.compiled.groupindex
    return shape.pattern.sub(take_out if has_place else REDACTED, text)


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments without secrets, including those that follow a flag such as `--api-key`."""
    shown: list[str] = []
    previous = ""
    programs = {argument.rpartition("/")[2] for argument in argv}
    for argument in argv:
        program, flag = _SHORT_FLAGS.get(previous, ("", ""))
        hidden = _after_flag(flag if program in programs else previous, argument)
        if hidden is None and argument.startswith("-H"):  # in one word: `-HAuthorization: …`
            hidden = _after_flag("-H", argument)
        shown.append(hidden or redact(argument))
        previous = argument
    return tuple(shown)


def _after_flag(flag: str, value: str) -> str | None:
    if not _FLAG_WORD.fullmatch(flag) or value.startswith("--") or not value:
        return None
    if flag.lstrip("-").lower() in ("user", "proxy-user"):
        return REDACTED if ":" in value else None
    if flag == "-H" or flag.lstrip("-").lower() == "header":
        found = _AUTH_HEADER.fullmatch(value)
        return None if found is None or is_ordinary(found["value"]) else take_out(found)
    if flag.lstrip("-").lower() in SHORT_FLAGS:
        return REDACTED if is_secret_of_flag(flag.lstrip("-"), value) else None
    return keep_reference(value)
