"""A session as one HTML file that needs nothing but itself: no script, no font, no picture from elsewhere. Pure.

Every text of the transcript goes through `escape`; the policy in the head would keep a browser from loading or running
anything even so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from oulipoly_engine.core.transcripts.dialogue import Entry, Kind, Part
from oulipoly_engine.core.transcripts.document_head import Head, Renderer, moment, split_fences

_SPAN = re.compile(r"(?<!`)(`{1,8})(?!`)([^\n]*?)(?<!`)\1(?!`)")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}", re.ASCII)
_SUMMARIES = {Kind.THINKING: "Thinking", Kind.RESULT: "Result", Kind.CONTEXT: "Context"}

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --user: #2a6fdb; --assistant: #2e8b57; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 0 0 .5rem; } h2 small { font-weight: normal; opacity: .7; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; } dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
section { border-left: 4px solid var(--line); padding: .2rem 0 .2rem 1rem; margin: 1.5rem 0; }
section.user { border-color: var(--user); } section.assistant { border-color: var(--assistant); }
section.more { margin-top: -1rem; }
.said { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
code, pre { font: .875em/1.45 ui-monospace, monospace; background: var(--soft); border-radius: 4px; }
code { padding: .1em .3em; } pre { padding: .7rem; overflow-x: auto; margin: .5rem 0; } pre code { padding: 0; }
details { border: 1px solid var(--line); border-radius: 4px; padding: .2rem .6rem; margin: .5rem 0; }
details pre { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 40rem; overflow-y: auto; }
summary { cursor: pointer; opacity: .8; } .failed summary { font-weight: 600; } .note { opacity: .7; }
@media print { details { break-inside: avoid; } }
"""


def head(about: Head) -> str:
    """Return everything before the first entry."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>\n" for name, text in about.rows())
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(about.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(about.title)}</h1>\n<dl>\n{rows}</dl>\n<main>\n"
    )


def entry(shown: Entry, number: int) -> Iterator[str]:
    """Yield an entry as a section; one that goes on with the answer before has no heading."""
    role = shown.role if shown.role in ("user", "assistant") else "other"
    if shown.continues:
        yield f'<section class="{role} more">\n'
    else:
        facts = (moment(shown.at), shown.model or "", "sub-agent session" * shown.is_sidechain)
        small = escape(" · ".join(fact for fact in facts if fact))
        yield f'<section class="{role}" id="turn-{number}">\n'
        yield f"<h2>{number}. {escape(shown.role.capitalize())} <small>{small}</small></h2>\n"
    for part in shown.parts:
        yield from _part(part)
    yield "</section>\n"


def foot() -> str:
    """Return everything behind the last entry."""
    return "</main>\n</body>\n</html>\n"


RENDERER = Renderer(head, entry, foot)


def _part(part: Part) -> Iterator[str]:
    match part.kind:
        case Kind.TEXT:
            yield from _text(part.text)
        case Kind.IMAGE:
            yield f'<p class="note">Image: {escape(", ".join(filter(None, (part.label, part.text))))}</p>\n'
        case Kind.CALL if not part.text:
            yield f'<p class="note">Used {escape(part.label)}</p>\n'
        case Kind.CALL:
            yield from _fold(part.label, part.text)
        case Kind.SUMMARY:
            yield from _fold("Compacted here: the summary that stands for everything before", part.text)
        case _:
            label = f": {part.label}" if part.label else ""
            failed = " (failed)" * part.is_error
            yield from _fold(f"{_SUMMARIES[part.kind]}{label}{failed}", part.text, failed=part.is_error)


def _fold(summary: str, text: str, *, failed: bool = False) -> Iterator[str]:
    yield f"<details{' class=failed' if failed else ''}><summary>{escape(summary)}</summary>\n<pre>"
    yield escape(text.rstrip("\n"), quote=False)
    yield "</pre>\n</details>\n"


def _text(text: str) -> Iterator[str]:
    for language, piece in split_fences(text.strip("\n")):
        if language is not None:
            known = _LANGUAGE.fullmatch(language)
            name = f' class="language-{language}"' if known else ""
            yield f"<pre><code{name}>{escape(piece, quote=False)}</code></pre>\n"
        elif piece.strip():
            yield f'<div class="said">{_spans(piece.strip(chr(10)))}</div>\n'


def _spans(text: str) -> str:
    """Return escaped text with its code spans marked."""
    if "`" not in text:
        return escape(text, quote=False)
    return "\n".join(_mark(line) if "`" in line else escape(line, quote=False) for line in text.split("\n"))


def _mark(line: str) -> str:
    shown, at = [], 0
    for span in _SPAN.finditer(line):
        shown += [escape(line[at : span.start()], quote=False), f"<code>{escape(span[2].strip(), quote=False)}</code>"]
        at = span.end()
    return "".join([*shown, escape(line[at:], quote=False)])
