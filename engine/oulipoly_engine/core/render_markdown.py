"""A conversation as Markdown. Pure.

What was said is Markdown already and stays so; only tags are taken out of its power, since `</details>` or `<!--` in
it would swallow the rest of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from oulipoly_engine.core.dialogue import Kind, Part, Turn
from oulipoly_engine.core.document import Head, Renderer, fenced, moment

_BACKTICKS = re.compile(r"`+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`)[^\n]*?(?<!`)\1(?!`)")
_SUMMARIES = {Kind.THINKING: "Thinking", Kind.RESULT: "Result", Kind.CONTEXT: "Context"}


def head(about: Head) -> str:
    """Return title and facts."""
    rows = "".join(f"- **{name}:** {_code(text) if name in _AS_CODE else _line(text)}\n" for name, text in about.rows())
    return f"# {about.title}\n\n{rows}"


def turn(shown: Turn, number: int) -> Iterator[str]:
    """Yield a turn: its heading, unless it goes on with the answer before, and its parts."""
    if not shown.continues:
        facts = (shown.role.capitalize(), moment(shown.at), shown.model or "", "side chain" * shown.is_sidechain)
        yield f"\n---\n\n## {number}. {' · '.join(_line(fact) for fact in facts if fact)}\n"
    for part in shown.parts:
        yield "\n"
        yield from _part(part)


def foot() -> str:
    """Return the end."""
    return ""


RENDERER = Renderer(head, turn, foot)
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
            yield from _folded(part.label, part.text)
        case Kind.SUMMARY:
            yield from _folded("Compacted here: the summary that stands for everything before", part.text)
        case _:
            label = f": {part.label}" if part.label else ""
            yield from _folded(f"{_SUMMARIES[part.kind]}{label}{' (failed)' * part.is_error}", part.text)


def _folded(summary: str, text: str) -> Iterator[str]:
    yield f"<details><summary>{_line(summary)}</summary>\n\n"
    yield from _block("", text)
    yield "\n</details>\n"


def _text(text: str) -> Iterator[str]:
    for language, piece in fenced(text.strip("\n")):
        if language is None:
            yield _tamed(piece).rstrip("\n") + "\n"
        else:
            yield from _block(language, piece)


def _block(language: str, text: str) -> Iterator[str]:
    """Yield a code block whose fence is longer than any run of backticks inside."""
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
    yield f"{fence}{language}\n"
    yield text.rstrip("\n")
    yield f"\n{fence}\n"


def _tamed(text: str) -> str:
    """Return text whose tags are shown instead of obeyed, but for those in a code span, which shows them anyway."""
    if "<" not in text:
        return text
    return "\n".join(_tamed_line(line) if "<" in line else line for line in text.split("\n"))


def _tamed_line(line: str) -> str:
    tamed, at = [], 0
    for span in _SPAN.finditer(line):
        tamed += [_TAG.sub("&lt;", line[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*tamed, _TAG.sub("&lt;", line[at:])])


def _line(text: str) -> str:
    return _tamed(" ".join(text.split()).replace("`", "'"))


def _code(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if "`" not in flat else f"`` {flat} ``"
