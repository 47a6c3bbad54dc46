"""A session as Markdown. Pure.

What was said is Markdown already and stays so; only tags are taken out of its power, since `</details>` or `<!--` in
it would swallow the rest of the document.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.core.transcripts.document_head import Head, Renderer, moment, split_fences

_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>`]*>)")
_ESCAPE_OR_RUN = re.compile(r"\\.|`+")
_SUMMARIES = {Kind.THINKING: "Thinking", Kind.RESULT: "Result", Kind.CONTEXT: "Context"}


def head(about: Head) -> str:
    """Return title and facts."""
    rows = "".join(f"- **{name}:** {_code(text) if name in _AS_CODE else _line(text)}\n" for name, text in about.rows())
    return f"# {about.title}\n\n{rows}"


def entry(shown: Entry, number: int) -> Iterator[str]:
    """Yield an entry: its heading, unless it goes on with the answer before, and its parts."""
    if not shown.continues:
        facts = (shown.role.capitalize(), moment(shown.at), shown.model or "", "sub-agent session" * shown.is_sidechain)
        yield f"\n---\n\n## {number}. {' · '.join(_line(fact) for fact in facts if fact)}\n"
    for part in shown.parts:
        yield "\n"
        yield from _part(part)


def foot() -> str:
    """Return the end."""
    return ""


RENDERER = Renderer(head, entry, foot)
_AS_CODE = ("Session", "Workspace")


def _part(part: Part) -> Iterator[str]:
    match part.kind:
        case Kind.TEXT:
            yield from _text(part.text)
        case Kind.IMAGE:
            yield f"*Image: {_line(', '.join(filter(None, (part.label, part.text))))}*\n"
        case Kind.CALL if not part.text:
            yield f"*Used {_line(part.label)}*\n"
        case Kind.CALL:
            yield from _fold(part.label, part.text)
        case Kind.SUMMARY:
            yield from _fold("Compacted here: the summary that stands for everything before", part.text)
        case _:
            label = f": {part.label}" if part.label else ""
            yield from _fold(f"{_SUMMARIES[part.kind]}{label}{' (failed)' * part.is_error}", part.text)


def _fold(summary: str, text: str) -> Iterator[str]:
    yield f"<details><summary>{_line(summary)}</summary>\n\n"
    yield from _block("", text)
    yield "\n</details>\n"


def _text(text: str) -> Iterator[str]:
    for language, piece in split_fences(text.strip("\n")):
        if language is None:
            yield _neutralise(piece).rstrip("\n") + "\n"
        else:
            yield from _block(language, piece)


def _block(language: str, text: str) -> Iterator[str]:
    """Yield a code block whose fence is longer than any run of backticks inside."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    yield f"{fence}{language}\n"
    yield text.rstrip("\n")
    yield f"\n{fence}\n"


def _neutralise(text: str) -> str:
    """Return text whose tags are shown instead of obeyed, but for those in a code span, which shows them anyway."""
    if "<" not in text:
        return text
    tamed, is_open = [], False
    for line in text.split("\n"):
        is_open = is_open and not line.isspace() and line != ""  # a span ends with its paragraph
        spans, is_left_open = _spans(line) if "`" in line else ([], False)
        tamed.append(_neutralise_line(line, [] if is_open else spans) if "<" in line else line)
        # What the backticks after an unpaired one mean depends on lines that may or may not be one paragraph.
        is_open = is_open or is_left_open
    return "\n".join(tamed)


def _neutralise_line(line: str, spans: list[tuple[int, int]]) -> str:
    tamed, at = [], 0
    for begin, end in spans:
        tamed += [_TAG.sub("&lt;", line[at:begin]), line[begin:end]]
        at = end
    return "".join([*tamed, _TAG.sub("&lt;", line[at:])])


def _spans(line: str) -> tuple[list[tuple[int, int]], bool]:
    """Return where a line's code spans are, and whether backticks are left that begin none.

    An escaped backtick begins none; inside a span a backslash escapes nothing.
    """
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in _BACKTICKS.finditer(line):
        runs[len(run[0])].append(run.start())
    spans, at, is_left_open = [], 0, False
    while (found := _ESCAPE_OR_RUN.search(line, at)) is not None:
        at = found.end()
        if line[found.start()] == "\\":
            continue
        closing = runs.get(len(found[0]), [])
        index = bisect_left(closing, at)
        if index == len(closing):
            is_left_open = True
            continue
        at = closing[index] + len(found[0])
        spans.append((found.start(), at))
    return spans, is_left_open


def _line(text: str) -> str:
    return _neutralise(" ".join(text.split()).replace("`", "'"))


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if "`" not in flat else f"`` {flat} ``"
