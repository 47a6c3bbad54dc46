"""`session show`: one session, its head and its entries as text to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.session_table import short_path
from oulipoly_engine.core.text.columns import plain, size_text
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts import entry_view
from oulipoly_engine.core.transcripts.entry_text import passages
from oulipoly_engine.core.transcripts.entry_tree import EntryTree, LineKind
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.catalogue import to_json

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.transcripts import StoredTranscript
    from oulipoly_engine.facade.sessions.types import Entry, EntryPages, ListedSession

_ENTRIES = 20
_PAGE = 200  # entries read at once


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a session: what is known of it, then its last entries."""
    parser = Parser(prog=f"{context.program} {name}", command=name, more="Secrets are left out.")
    parser.add_argument("session", metavar="ID", help="the session's id; its first 4 characters are enough")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument(
        "--limit", type=int, default=_ENTRIES, metavar="N", help=f"the last N messages, default {_ENTRIES}"
    )
    amount.add_argument("--all", action="store_true", help="every message")
    parser.add_argument("--sub-agents", action="store_true", help="with what sub-agents said")
    parser.add_argument("--no-redact", action="store_true", help="leave secrets in")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-pager", action="store_true", help="print at once, also on a terminal")
    parser.add_argument("--no-scan", action="store_true", help="do not look for what CLIs have just written")
    parser.accept_older("--turns", "--limit")
    parser.accept_older("--side-chains", "--sub-agents")
    parser.accept_older("--raw", "--no-redact")
    options = parser.parse(arguments)
    if options.limit < 0:
        parser.error("--limit must not be negative")
    if not options.no_scan:
        person.read_new(context)
    sessions = context.engine.sessions
    with sessions.transcripts.open_stored(options.session, with_side_chains=options.sub_agents) as shown:
        start = 0 if options.all else max(0, len(shown.entries) - options.limit)
        if options.json:
            _print_json(context, shown, start, raw=options.no_redact)
            return 0
        lines = _lines(context, shown, start, raw=options.no_redact)
        if options.no_pager or not os.isatty(1) or not sessions.files.page(lines):
            for line in lines:
                output.write_line(line)
    return 0


def _lines(context: Context, shown: StoredTranscript, start: int, *, raw: bool) -> Iterator[str]:
    pages = shown.entries
    now = context.clock.now().astimezone()
    yield from _head(shown.listed, shown.tree, now, str(context.paths.home))
    if start:
        yield ""
        yield f"… {start} earlier messages: --all, or --limit N"
    for position, entry in _entries(pages, start):
        yield ""
        at = from_text(entry.timestamp).astimezone(now.tzinfo)
        yield entry_view.format_heading(position + 1, entry.role, at, _marks(entry))
        yield from entry_view.body_lines(entry.body, person.columns(), raw=raw)
    if not len(pages):
        yield ""
        yield f"no message of it is stored: `{context.program} session scan` reads what the CLI has written"


def _head(listed: ListedSession, tree: EntryTree, now: datetime, home: str) -> Iterator[str]:
    one = listed.session
    active = one.active
    yield plain(redact(one.title or "(no name)")) + ("  *" if one.pinned_at is not None else "")
    if one.note:
        yield f"  note       {plain(redact(one.note))}"
    yield f"  id         {one.chain_id}"
    if one.forked_from is not None:
        yield f"  fork of    {plain(one.forked_from)}"
    yield f"  model      {plain(one.model)}" + ("" if active.cli_model is None else f" ({plain(active.cli_model)})")
    yield f"  workspace  {'?' if one.workspace is None else plain(short_path(one.workspace, home))}"
    yield f"  file       {_file(listed, now, home)}"
    first, last = (from_text(text).astimezone(now.tzinfo) for text in (one.first_used_at, one.last_used_at))
    yield f"  used       {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
    branches = sum(line.kind is LineKind.BRANCH for line in tree.lines)
    yield (
        f"  turns      {active.entries} ({active.assistant_entries} of the assistant, {active.sidechain_entries} in "
        f"{active.side_chains} sub-agent sessions), {branches} branches"
    )
    for part in one.parts:
        state = "active" if part is one.active else "ended" if part.ended_at is not None else "open"
        yield f"  segment    {part.session_id}  {plain(part.account)} ({listed.kind}), {state}, {part.entries} turns"


def _file(listed: ListedSession, now: datetime, home: str) -> str:
    path = listed.session.active.transcript
    if path is None:
        return "?"
    shown = plain(short_path(path, home))
    if not listed.has_transcript:
        is_kept = listed.session.has_kept_copy
        return f"{shown} (gone" + ("; `session archive --restore` puts a copy there)" if is_kept else ")")
    size = size_text(listed.size_bytes or 0)
    if listed.purge_at is None:
        return f"{shown} ({size})"
    return f"{shown} ({size}; its CLI deletes it on {listed.purge_at.astimezone(now.tzinfo):%Y-%m-%d})"


def _marks(entry: Entry) -> tuple[str, ...]:
    marks = {"sub-agent": entry.is_sidechain, "compaction": entry.is_compaction_boundary}
    return tuple(mark for mark, holds in marks.items() if holds)


def _entries(pages: EntryPages, start: int) -> Iterator[tuple[int, Entry]]:
    for begin in range(start, len(pages), _PAGE):
        yield from enumerate(pages.page(begin, _PAGE), begin)


def _print_json(context: Context, shown: StoredTranscript, start: int, *, raw: bool) -> None:
    pages = shown.entries
    entries = [
        _entry_document(position, entry, shown.parents.get(entry.entry_id), raw=raw)
        for position, entry in _entries(pages, start)
    ]
    lines = [
        {"kind": line.kind.value, "turns": len(line.rows), "first_at": line.first_at, "last_at": line.last_at}
        for line in shown.tree.lines
    ]
    output.write_json(
        {
            **to_json(shown.listed, context.clock.now()),
            "lines": lines,
            "leaf": shown.leaf,
            "total_turns": len(pages),
            "shown_turns": entries,
        },
        pretty=False,
    )


def _entry_document(position: int, entry: Entry, parent_id: str | None, *, raw: bool) -> dict[str, object]:
    return {
        "position": position,
        "turn_id": entry.entry_id,
        "role": entry.role,
        "timestamp": entry.timestamp,
        "parent_turn_id": entry.parent_entry_id,
        "parent_id": parent_id,
        "kind": entry.kind,
        "live_turn_id": entry.turn_id,
        "is_sidechain": entry.is_sidechain,
        "is_compaction_boundary": entry.is_compaction_boundary,
        "content": [
            {"type": passage.kind, "text": passage.text if raw else redact(passage.text)}
            for passage in passages(entry.body)
        ],
    }
