"""Markdown as lines of toned text: headings, lists, quotes, emphasis, code. Pure.

Made for what models write, a line at a time; what is not understood is shown as it stands. Nothing in the text is ever
taken for markup of the screen's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from oulipoly_engine.core.transcripts.document_head import split_fences
from oulipoly_engine.records import Record
from oulipoly_tui.view.transcript.spans import Line, Span, Tone, cells, fit_text, wrap_lines

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,4}[.)])\s+(.*)")
_QUOTE = re.compile(r"\s{0,3}>\s?(.*)")
_RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_INLINE = re.compile(
    r"(?P<code>`+)(?P<coded>.+?)(?<!`)(?P=code)(?!`)"
    r"|\*\*(?P<strong>[^*\s](?:[^*]*[^*\s])?)\*\*|__(?P<strong2>[^_\s](?:[^_]*[^_\s])?)__"
    r"|(?<![\w*])\*(?P<em>[^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|(?<!\w)_(?P<em2>[^_\s](?:[^_]*[^_\s])?)_(?!\w)"
    r"|\[(?P<label>[^\]\n]{1,300})\]\((?P<address>[^)\s]{1,600})\)"
)
_TABLE_RULE = re.compile(r":?-+:?")
_LONGEST_INLINE = 4_000  # characters of a line in which emphasis is looked for
_BAR = "│ "


class MarkdownLine(Record):
    """One line, and which code block it belongs to."""

    line: Line
    block: int = -1  # from 0; -1: none


def markdown(text: str, width: int) -> Iterator[MarkdownLine]:
    """Yield the lines of a text, none wider than so many columns."""
    block = 0
    for language, part in split_fences(text):
        if language is None:
            yield from (MarkdownLine(line) for line in _prose(part.strip("\n"), width))
        else:
            if language:
                yield MarkdownLine(((_BAR, "accent"), (printable(language)[: width - 2], "dim")), block)
            yield from (MarkdownLine(line, block) for line in _code(part, language, width))
            block += 1


def typed(text: str, width: int) -> Iterator[Line]:
    """Yield a text as a person typed it, broken at spaces: `+ return 1` is no list, `*.py` no emphasis."""
    for raw in text.split("\n"):
        line = printable(raw).rstrip()
        yield from wrap_lines([((line, ""),)], width) if line else ((),)


def code_blocks(text: str) -> list[str]:
    """Return the code of each block, in the order in which `markdown` numbers them."""
    return [part for language, part in split_fences(text) if language is not None]


def bar(text: str, width: int, tone: Tone = "dim", inner: Tone = "") -> Iterator[Line]:
    """Yield a text as it is, behind a bar; lines that are too wide are broken anywhere."""
    room = max(8, width - len(_BAR))
    for raw in text.split("\n"):
        line = printable(raw)
        for piece in _pieces(line, room):
            yield ((_BAR, tone), (piece, inner))


def printable(text: str) -> str:
    """Return one line without signs that a terminal would obey; tabs become spaces."""
    text = text.expandtabs(4)
    return text if text.isprintable() else "".join(sign for sign in text if sign.isprintable())


def flow(spans: Sequence[Span], width: int, first: str = "", rest: str = "", tone: Tone = "") -> Iterator[Line]:
    """Yield spans broken at spaces; first and rest: what the first and the other lines begin with."""
    current: list[Span] = [(first, tone)] if first else []
    left = width - cells(first)
    has_words = False
    for text, own in spans:
        for word in _words(text):
            wide = cells(word)
            if wide > left and has_words:
                yield tuple(current)
                current, left, has_words = ([(rest, tone)] if rest else []), width - cells(rest), False
                word = word.lstrip(" ")
                wide = cells(word)
            while wide > left:  # longer than a line by itself
                head = _head(word, left)
                yield (*current, (head, own))
                current, left = ([(rest, tone)] if rest else []), width - cells(rest)
                word = word[len(head) :]
                wide = cells(word)
            if word:
                current.append((word, own))
                left -= wide
                has_words = True
    yield tuple(_join_spans(current))


def _code(text: str, language: str, width: int) -> Iterator[Line]:
    if not language:
        yield from bar(text, width, "accent")
        return
    from oulipoly_tui.view.transcript.code import break_line, highlight_code  # noqa: PLC0415 - the lexers, at the first block of code alone

    lines = highlight_code("\n".join(map(printable, text.split("\n"))), language)
    if lines is None:
        yield from bar(text, width, "accent")
        return
    room = max(8, width - len(_BAR))
    yield from (((_BAR, "accent"), *piece) for line in lines for piece in break_line(line, room))


def _prose(text: str, width: int) -> Iterator[Line]:
    if not text:
        return
    table: list[str] = []
    for raw, after in zip(raws := text.split("\n"), (*raws[1:], ""), strict=True):
        line, following = printable(raw).rstrip(), printable(after).rstrip()
        if not line:
            yield ()
        elif (found := _HEADING.fullmatch(line)) is not None:
            yield from flow([(found[2], "heading")], width)
        elif _RULE.fullmatch(line):
            yield (("─" * min(width, 40), "dim"),)
        elif (found := _ITEM.fullmatch(line)) is not None:
            indent = " " * min(cells(found[1]), width // 3)
            mark = "• " if found[2] in "-*+" else f"{found[2]} "
            yield from flow(list(_inline(found[3])), width, indent + mark, " " * cells(indent + mark), "accent")
        elif (found := _QUOTE.fullmatch(line)) is not None:
            yield from flow([(text, tone or "dim") for text, tone in _inline(found[1])], width, "┃ ", "┃ ", "dim")
        elif _is_table(line):
            table.append(line)
            if not _is_table(following):
                yield from _table(table, width)
                table = []
        else:
            indent = " " * min(len(line) - len(line.lstrip()), width // 3)
            yield from flow(list(_inline(line.lstrip())), width, indent, indent)


def _is_table(line: str) -> bool:
    return line.lstrip().startswith("|") and line.endswith("|") and len(line.strip()) > 1


def _table(raws: Sequence[str], width: int) -> Iterator[Line]:
    """Yield a table's rows with its columns under each other; one that is too wide stays as it was written."""
    rows = [[part.strip() for part in raw.strip()[1:-1].split("|")] for raw in raws]
    told = [row for row in rows if not all(_TABLE_RULE.fullmatch(part) for part in row)]
    count = max(map(len, told), default=0)
    widths = [max(cells(row[place]) if place < len(row) else 0 for row in told) for place in range(count)]
    if sum(widths) + 3 * max(0, count - 1) > width:
        yield from (((piece, ""),) for raw in raws for piece in _pieces(raw, width))
        return
    is_headed = len(rows) > 1 and rows[0] in told and rows[1] not in told
    for number, row in enumerate(told):
        texts = [fit_text(row[place] if place < len(row) else "", wide) for place, wide in enumerate(widths)]
        yield ((" │ ".join(texts).rstrip(), "strong" if is_headed and number == 0 else ""),)
        if is_headed and number == 0:
            yield (("─┼─".join("─" * wide for wide in widths), "dim"),)


def _inline(text: str) -> Iterator[Span]:
    at = 0
    for found in _INLINE.finditer(text) if len(text) <= _LONGEST_INLINE else ():
        if found.start() > at:
            yield (text[at : found.start()], "")
        if found["code"]:
            yield (found["coded"], "key")
        elif found["label"]:
            yield (found["label"], "accent")
            if found["address"] != found["label"]:
                yield (f" ({found['address']})", "dim")
        elif found["strong"] or found["strong2"]:
            yield (found["strong"] or found["strong2"], "strong")
        else:
            yield (found["em"] or found["em2"], "accent")
        at = found.end()
    if at < len(text):
        yield (text[at:], "")


def _words(text: str) -> Iterator[str]:
    """Split before each run of spaces, so that joining gives the text again."""
    yield from re.findall(r" *[^ ]+| +$", text)


def _pieces(text: str, width: int) -> Iterator[str]:
    if cells(text) <= width:
        yield text
        return
    while text:
        head = _head(text, width)
        yield head
        text = text[len(head) :]


def _head(text: str, width: int) -> str:
    """Return as much of a text as fits, one sign at least."""
    if text.isascii():
        return text[: max(1, width)]
    taken = 0
    for place, sign in enumerate(text):
        taken += cells(sign)
        if taken > width:
            return text[: max(1, place)]
    return text


def _join_spans(spans: Sequence[Span]) -> Iterator[Span]:
    """Put neighbours of one tone together: fewer segments to draw."""
    text, tone = "", None
    for piece, own in spans:
        if own == tone:
            text += piece
            continue
        if tone is not None:
            yield (text, tone)
        text, tone = piece, own
    if tone is not None:
        yield (text, tone)
