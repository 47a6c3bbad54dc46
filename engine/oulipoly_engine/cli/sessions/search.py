"""`session search`: full text over everything that was said, in every session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, RawHelp
from oulipoly_engine.cli.base.progress import Progress
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.search.query import DATE_FORMS, Query
from oulipoly_engine.core.search.rank import RANKED_AMONG
from oulipoly_engine.core.search.snippet import Snippet
from oulipoly_engine.core.sessions.session_table import ID_LENGTH, short_path
from oulipoly_engine.core.text.columns import fit, plain
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.types import Hit

_SHOWN, _MOST = 20, 10_000
_EPILOG = f"""\
words are all needed; "a phrase", begin*, -not. Fields: account: cli: model: cwd: role: session: date: is:pinned
is:sidechain; several values of one field (account:a,b) widen it, `*` stands for anything, -account:a leaves out.
dates: {DATE_FORMS}
of one turn's text the first 1,048,576 characters are searched"""


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print turns that fit, the newest first."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        epilog=_EPILOG,
        formatter_class=RawHelp,
    )
    parser.add_argument("query", nargs="+", metavar="QUERY", help="words, phrases and fields")
    parser.add_argument("--limit", type=int, default=_SHOWN, metavar="N", help=f"show so many, default {_SHOWN}")
    parser.add_argument("--rank", action="store_true", help=f"the best of the newest {RANKED_AMONG} matches first")
    parser.add_argument("--as-is", action="store_true", help="neither read nor index new turns first")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-scan", action="store_true", help="do not look for what CLIs have just written")
    options = parser.parse(person.with_negations(arguments))
    if not 1 <= options.limit <= _MOST:
        parser.error(f"--limit must be 1 to {_MOST}")
    catalogue = context.engine.sessions.catalogue
    query = catalogue.query(" ".join(options.query))
    if query == Query():
        raise UsageInvalid("give something to search for")
    if not (options.no_scan or options.as_is):
        person.read_new(context)
    result = catalogue.search_all(
        query,
        options.limit,
        width=_width(options.json),
        by_rank=options.rank,
        as_is=options.as_is,
        counting=Progress,
    )
    found = result.found
    if options.json:
        output.write_json({"hits": [_document(hit) for hit in found.hits], "unindexed": found.unindexed}, pretty=False)
        return 0
    for hit in found.hits:
        output.write_line(fit(_head(context, hit), person.columns()))
        output.write_line(f"    {_format_snippet(hit.snippet)}")
    if not found.hits:
        output.write_line("nothing was found" if result.has_sessions else person.way_to_sessions(context))
    for text in result.unknown:
        diagnostics.note(text)
    if found.unindexed:
        diagnostics.note(f"{found.unindexed} turns are not indexed yet: leave --as-is out to search them too")
    if found.cut:
        many = "1 turn is" if found.cut == 1 else f"{found.cut} turns are"
        diagnostics.note(f"{many} very long: only the first 1,048,576 characters of such were searched")
    return 0


def _width(as_json: bool) -> int:
    return 240 if as_json else max(40, min(240, 2 * person.columns() - 12))


def _head(context: Context, hit: Hit) -> str:
    one, part = hit.session, hit.part
    workspace = None if part is None else part.cwd
    parts = (
        f"{from_text(hit.timestamp).astimezone():%Y-%m-%d %H:%M}",
        hit.session_id[:ID_LENGTH] if one is None else one.chain_id[:ID_LENGTH],
        hit.speaker,
        hit.account,
        None if one is None else one.shown_model,
        None if workspace is None else short_path(workspace, str(context.paths.home)),
        None if one is None or one.title is None else redact(one.title),
    )
    return "  ".join(plain(part) for part in parts if part)


def _format_snippet(snippet: Snippet) -> str:
    shown, place = [], 0
    for begin, end in snippet.marks:
        shown += [snippet.text[place:begin], "«", snippet.text[begin:end], "»"]
        place = end
    return "".join([*shown, snippet.text[place:]])


def _document(hit: Hit) -> dict[str, object]:
    one, part = hit.session, hit.part
    return {
        "chain_id": None if one is None else one.chain_id,
        "session_id": hit.session_id,
        "account": hit.account,
        "cli": hit.kind,
        "model": None if one is None else one.model,
        "cli_model": None if part is None else part.cli_model,
        "workspace": None if part is None else part.cwd,
        "title": None if one is None else one.title,
        "turn_id": hit.entry_id,
        "role": hit.role,
        "timestamp": hit.timestamp,
        "snippet": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
        "score": hit.score,
    }
