"""Code as lines of toned text: what is a keyword, a string, a comment. Pure.

The lexers are Pygments', which Textual brings along. A line keeps every sign it has; only its tones are ours, so what
is copied from it, and where it breaks, does not depend on whether its language is known.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_LONGEST = 12_000  # characters of a block that is looked at: 15 ms, once for each time that it is laid out
_DIFFS = frozenset(("diff", "patch", "udiff"))
_DIFF_TONES: tuple[tuple[str, Tone], ...] = (("+", "good"), ("-", "bad"), ("@", "accent"))


def highlight_code(code: str, language: str) -> tuple[Line, ...] | None:
    """Return the lines of a block; None where its language is not known, or it is too long to be looked at.

    language: the fence's first word, as written: `python`, `ts`, `console`.
    """
    name = _name(language)
    return _highlight(code, name) if name and len(code) <= _LONGEST else None


@lru_cache(maxsize=16)  # some 300 kB each at most
def _highlight(code: str, name: str) -> tuple[Line, ...] | None:
    if name in _DIFFS:
        return tuple(_diff_line(line) for line in code.split("\n"))
    lexer = _lexer(name)
    return None if lexer is None else tuple(_lines(lexer.get_tokens(code)))


def prepare(language: str) -> None:
    """Load what a language needs, which takes 60 ms for the first one: where nobody waits for it."""
    name = _name(language)
    if name and name not in _DIFFS:
        _lexer(name)


def break_line(line: Line, width: int) -> tuple[Line, ...]:
    """Break a line anywhere, so that no piece takes more columns than `width`; an empty line is one piece."""
    if sum(cells(text) for text, _ in line) <= width:
        return (line,)
    pieces: list[list[Span]] = [[]]
    left = width
    for text, tone in line:
        for sign in text:
            wide = cells(sign)
            if wide > left and pieces[-1]:
                pieces.append([])
                left = width
            pieces[-1].append((sign, tone))
            left -= wide
    return tuple(tuple(_join_spans(piece)) for piece in pieces)


def _name(language: str) -> str:
    return language.split(maxsplit=1)[0].strip("{}.").casefold() if language.strip() else ""


@lru_cache(maxsize=32)
def _lexer(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - 20 ms, at the first block of code alone
    from pygments.util import ClassNotFound  # noqa: PLC0415 - as above

    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _lines(tokens: Any) -> list[Line]:  # noqa: ANN401 - Pygments' pairs of token type and text
    lines: list[Line] = []
    current: list[Span] = []
    for kind, text in tokens:
        tone = _tone(kind)
        first, *rest = text.split("\n")
        current.append((first, tone))
        for piece in rest:
            lines.append(tuple(_join_spans(current)))
            current = [(piece, tone)]
    lines.append(tuple(_join_spans(current)))
    return lines


@lru_cache(maxsize=256)
def _tone(kind: Any) -> Tone:  # noqa: ANN401 - Pygments' token types
    from pygments.token import Comment, Generic, Keyword, Literal, Name, Operator  # noqa: PLC0415 - as in `_lexer`

    tones: tuple[tuple[Any, Tone], ...] = (
        (Comment, "dim"),
        (Literal.String, "string"),
        (Literal.Number, "string"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Name.Function, "strong"),
        (Name.Class, "strong"),
        (Name.Tag, "keyword"),
        (Name.Attribute, "strong"),
        (Name.Decorator, "keyword"),
        (Generic.Prompt, "keyword"),
        (Generic.Output, "dim"),
    )
    return next((tone for known, tone in tones if kind in known), "")


def _diff_line(line: str) -> Line:
    tone: Tone = next((tone for sign, tone in _DIFF_TONES if line.startswith(sign)), "")
    return ((line, tone),) if line else ()


def _join_spans(spans: list[Span]) -> list[Span]:
    found = ((tone, "".join(text for text, _ in group)) for tone, group in groupby(spans, key=lambda span: span[1]))
    return [(text, tone) for tone, text in found if text]
