"""`trace`: an invocation's tree, as text or JSON."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.sessions.arguments import with_negations
from oulipoly_engine.clock import from_text
from oulipoly_engine.core.balance.decision_text import why_lines
from oulipoly_engine.core.runs import trace as tree
from oulipoly_engine.core.sessions.session_table import ID_LENGTH, age_or_day
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.worktrees.trace import run_lines
from oulipoly_engine.errors import InvocationNotFound, SessionIdInvalid, SessionNotFound
from oulipoly_engine.facade import output

if TYPE_CHECKING:
    from oulipoly_engine.core.sessions.spawned import Spawned

_LISTED = 50  # of the latest runs
_AGE = len("23 h 59 m ago")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the tree of an invocation, or the list of those that a query fits."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Show a run and everything it started, or what a session has done; with a query, or with nothing, "
        "the latest runs.",
        epilog="fields: account: model: session: date: is:failed; words: of models, accounts, reasons, ids",
    )
    parser.add_argument(
        "invocation",
        metavar="RUN|QUERY",
        nargs="*",
        help="the id that OULIPOLY_INVOCATION shows, or that of a session or a turn; else what runs must fit",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument("--transcript", action="store_true", help="append the session's stored text")
    parser.add_argument("--why", action="store_true", help="below each line, why its account was chosen")
    parser.add_argument("--inline-transcript", action="store_true", help="with --json: stored turns in each node")
    parser.add_argument("--max-depth", type=int, default=tree.DEFAULT_MAX_DEPTH, metavar="N", help="default 64")
    options = parser.parse(with_negations(arguments))
    if options.inline_transcript and not options.json:
        parser.error("--inline-transcript needs --json")
    if options.max_depth < 0:
        parser.error("--max-depth must not be negative")
    words = options.invocation
    if len(words) != 1 or _is_query(words[0]):
        if options.transcript or options.why or options.inline_transcript:
            parser.error("a list of runs shows no transcript and no decision: name one run by its id")
        return _list_runs(context, " ".join(words), as_json=options.json)
    try:
        root = context.engine.trace.tree(
            words[0],
            max_depth=options.max_depth,
            inline_transcript=options.inline_transcript or options.transcript,
        )
    except InvocationNotFound:
        is_of_run = options.transcript or options.why or options.inline_transcript
        if not is_of_run and _show_session(context, words[0], as_json=options.json):
            return 0
        raise
    now = context.clock.now()
    if options.json:
        output.write_json(tree.to_json(root, now))
        return 0
    why = _decisions(root) if options.why else {}
    for line in tree.to_lines(root, now, why):
        output.write_line(line)
    if options.transcript:
        for text in tree.transcript_lines(root):
            output.write_block(f"{text}\n")
    return 0


def _show_session(context: Context, identity: str, *, as_json: bool) -> bool:
    """Print what a session has done that no run of ours tells of; False: there is none."""
    sessions = context.engine.sessions
    try:
        chain_id = sessions.catalogue.find(identity).chain_id
    except (SessionNotFound, SessionIdInvalid):
        return False
    runs = sessions.transcripts.trace(chain_id)
    if as_json:
        output.write_json({"chain_id": chain_id, "turns": msgspec.to_builtins(runs)})
        return True
    for run in runs:
        output.write_lines(run_lines(run))
    return True


def _is_query(word: str) -> bool:
    """Tell whether one word asks for a list: an id holds no colon and begins with no minus."""
    return ":" in word or word.startswith("-")


def _list_runs(context: Context, text: str, *, as_json: bool) -> int:
    from oulipoly_engine.core.sessions.spawned import run_fits  # noqa: PLC0415 - one run's tree needs none of it

    catalogue = context.engine.sessions.catalogue
    query = catalogue.query(text)
    runs = [run for run in catalogue.list_spawned() if run_fits(query, run)]
    now = context.clock.now()
    if as_json:
        output.write_json({"runs": [_run_document(run) for run in runs[:_LISTED]], "total": len(runs)})
        return 0
    if not runs:
        output.write_line("no run fits" if text else "no run is recorded")
    for run in runs[:_LISTED]:
        output.write_line(_run_line(run, now))
    if len(runs) > _LISTED:
        output.write_line(f"{len(runs) - _LISTED} more: words narrow the list, as in date:<1d")
    return 0


def _run_line(run: Spawned, now: datetime) -> str:
    """Return a run as one line: its id first, so that it can be asked for."""
    state = f"{run.status}: {run.reason}" if run.has_failed and run.reason else run.status
    began = age_or_day(from_text(run.created_at), now)
    return plain(f"{run.uuid[:ID_LENGTH]}  {began:>{_AGE}}  {run.model} on {run.account or '?'}  {state}")


def _run_document(run: Spawned) -> dict[str, object]:
    return {
        "id": run.uuid,
        "model_name": run.model,
        "source": run.account,
        "status": run.status,
        "reason": run.reason,
        "session_id": run.session_id,
        "started_at": run.created_at,
        "finished_at": run.finished_at,
    }


def _decisions(node: tree.Node) -> dict[str, tuple[str, ...]]:
    found = {} if node.decision is None else {node.invocation.uuid: tuple(why_lines(node.decision))}
    for child in node.children:
        found |= _decisions(child)
    return found
