"""`session list`: every session of every account, as a table or as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import Progress
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.facets import LIVE_KINDS, facets_text
from oulipoly_engine.core.sessions.session_table import SessionRow, age_or_day, fork_text, remark, render, short_path
from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.sessions.catalogue import to_json

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions.catalogue import SessionTable
    from oulipoly_engine.facade.sessions.types import ListedSession

_AT_RISK_DAYS = 7.0  # a deletion that is nearer is shown in the table; the JSON form always has it
_FIELDS = (
    "account: cli: model: cwd: session: date: is:pinned is:sidechain is:at-risk is:failed is:live is:waiting is:work"
)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print sessions, the latest used first; pinned ones lead."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        epilog=f"fields: {_FIELDS}; words are looked for in names, notes, folders, ids, accounts and models",
    )
    parser.add_argument("query", nargs="*", metavar="QUERY", help="words and fields that must fit, -word must not")
    parser.add_argument(
        "--sort", choices=[str(sort) for sort in Sort], default=Sort.USED, help="by what to sort; default: used"
    )
    parser.add_argument("--reverse", action="store_true", help="the other way round; pinned ones still lead")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="show so many; default: the setting session_history_size, 50"
    )
    parser.add_argument("--all", action="store_true", help="show all")
    parser.add_argument("--live", action="store_true", help="only live sessions, and how they stand")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-scan", action="store_true", help="do not look for what CLIs have just written")
    options = parser.parse(person.with_negations(arguments))
    if options.limit is not None and options.limit < 1:
        parser.error("--limit must be 1 or more")
    catalogue = context.engine.sessions.catalogue
    query = catalogue.query(" ".join(options.query))
    if not (options.no_scan or options.live):  # of a live session nobody has to read what its CLI has written
        person.read_new(context)
    limit, order = None, Sort(options.sort)
    if not options.all:
        limit = options.limit or catalogue.history_size
    kinds = LIVE_KINDS if options.live else None
    table = catalogue.table(query, order, limit, is_reversed=options.reverse, kinds=kinds, counting=Progress)
    now = context.clock.now()
    if options.json:
        _write_json(context, table, now, only_live=options.live)
        return 0
    if not table.rows:
        _say_nothing_fits(context, is_asked=bool(options.query) and table.has_state, only_live=options.live)
        for text in table.unknown:
            diagnostics.note(text)
        return 0
    drawn = render([_row(context, one, now) for one in table.rows], person.columns())
    output.write_lines(drawn)
    if table.total > len(table.rows):
        output.write_line(f"{table.total - len(table.rows)} more: --all, --limit N, or words to narrow it")
    return 0


def _say_nothing_fits(context: Context, *, is_asked: bool, only_live: bool) -> None:
    if is_asked:
        output.write_line("no session fits")
    elif only_live:
        diagnostics.note(f"there is no live session: `{context.program} session new MODEL` begins one")
    else:
        output.write_line(person.way_to_sessions(context))


def _write_json(context: Context, table: SessionTable, now: datetime, *, only_live: bool) -> None:
    rows = [to_json(listed, now) for listed in table.rows]
    totals = {"total": table.total, "undescribed": table.undescribed}
    if not only_live:
        output.write_json({"conversations": rows, **totals}, pretty=False)
        return
    from oulipoly_engine.cli.live.session import status_json  # noqa: PLC0415 - only these need it

    statuses = context.engine.live.describe([listed.facets.live_id for listed in table.rows])
    for listed, row in zip(table.rows, rows, strict=True):
        row |= status_json(statuses[listed.facets.live_id])
    output.write_json({"schema_version": SCHEMA_VERSION, "sessions": rows, **totals})


def _row(context: Context, listed: ListedSession, now: datetime) -> SessionRow:
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, not for JSON and for nothing

    one = listed.session
    return SessionRow(
        is_pinned=one.pinned_at is not None,
        last_used=age_or_day(from_text(one.last_used_at), now.astimezone()),
        chain_id=one.chain_id,
        account=one.active.account,
        model=one.shown_model or "?",
        entries=one.entries,
        workspace="?" if one.workspace is None else short_path(one.workspace, str(context.paths.home)),
        name=redact(one.title or "-"),
        remark=", ".join(filter(None, (facets_text(listed.facets), _standing(listed, now), fork_text(one)))),
    )


def _standing(listed: ListedSession, now: datetime) -> str:
    is_kept = listed.session.has_kept_copy
    return remark(listed.has_transcript, listed.purge_at, now, _AT_RISK_DAYS, is_kept=is_kept)
