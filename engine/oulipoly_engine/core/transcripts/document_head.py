"""What every document of a session says in its head, whatever the format. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

from oulipoly_engine.core.transcripts.dialogue import Entry, Findings, PartSelection
from oulipoly_engine.records import Record

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|\+00:00)", re.ASCII)


class Format(StrEnum):
    """The formats for people."""

    MARKDOWN = "markdown"
    HTML = "html"


class Origin(StrEnum):
    """Where the entries come from."""

    TRANSCRIPT = "the CLI's transcript"
    ARCHIVE = "the kept copy in the archive; the CLI's own is gone"
    STATE = "turns stored when they were ingested; the transcript is gone"


class Head(Record):
    """What is said before the first entry."""

    session_id: str
    account: str
    origin: Origin
    findings: Findings
    wanted: PartSelection
    secrets: int | None  # taken out; None: nothing was
    model: str | None = None  # that the user asked for

    @property
    def title(self) -> str:
        """Return the document's title."""
        return f"Conversation {self.session_id[:8]}"

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield what is known: name and text."""
        found = self.findings
        yield "Session", self.session_id
        if found.forked_from:
            yield "Forked from", f"{found.forked_from}, which holds what was said before"
        yield "Account", self.account
        models = ", ".join(found.models)
        yield from _present("Model", f"{self.model} ({models})" if self.model and models else self.model or models)
        yield from _present("Workspace", ", ".join(found.workspaces))
        yield from _present("From", moment(found.first_at))
        yield from _present("To", moment(found.last_at))
        yield "Messages", str(found.entries)  # not the entries of the list, which count results of tools too
        yield "Read from", self.origin.value
        yield from _present("Left out", ", ".join(_list_omissions(self.wanted)))
        if found.damaged:
            named = ", ".join(map(str, found.damaged_lines))
            more = ", ..." if found.damaged > len(found.damaged_lines) else ""
            yield "Unreadable", f"{found.damaged} lines of the transcript ({named}{more})"
        yield "Secrets", _secrets(self.secrets)


class Renderer(Record):
    """One format: what its parts are written by."""

    head: Callable[[Head], str]
    entry: Callable[[Entry, int], Iterator[str]]  # with the number of its heading, from 1
    foot: Callable[[], str]


def moment(at: str) -> str:
    """Return an instant as people read it, to the second; what is none stays as it is."""
    found = _INSTANT.fullmatch(at)
    return f"{found[1]} {found[2]} UTC" if found else at


def split_fences(text: str) -> Iterator[tuple[str | None, str]]:
    """Split a Markdown text at its code fences: pairs of a language and code, or of None and a text.

    A fence that nobody closes ends with the text.
    """
    at = 0
    if "```" not in text and "~~~" not in text:  # the search for line beginnings takes its time
        at = len(text)
        yield from [(None, text)] if text else ()
    while (opening := _FENCE.search(text, at)) is not None:
        if opening.start() > at:
            yield None, text[at : opening.start()]
        close = re.compile(rf"^ {{0,3}}{re.escape(opening[1][0])}{{{len(opening[1])},}}[ \t]*$", re.MULTILINE)
        closing = close.search(text, opening.end())
        end = len(text) if closing is None else closing.start()
        yield opening[2].strip().partition(" ")[0], text[opening.end() + 1 : end].removesuffix("\n")
        at = len(text) if closing is None else min(closing.end() + 1, len(text))
    if at < len(text):
        yield None, text[at:]


def _present(name: str, text: str) -> Iterator[tuple[str, str]]:
    if text:
        yield name, text


def _list_omissions(wanted: PartSelection) -> Iterator[str]:
    if not wanted.tools:
        yield "what tools were given and answered"
    if not wanted.thinking:
        yield "thinking"
    if not wanted.context:
        yield "what the CLI put in"


def _secrets(count: int | None) -> str:
    if count is None:
        return "not redacted: whatever the session held is still here"
    return f"{count} redacted" if count else "none found to redact"
