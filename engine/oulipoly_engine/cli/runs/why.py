"""`why`: the decision that a run would get now, or the one that a run got."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import show_quota_progress
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.record import record_text, record_to_json
from oulipoly_engine.core.balance.what_if import FORMS
from oulipoly_engine.core.balance.why_table import why_table
from oulipoly_engine.core.text.quantities import local
from oulipoly_engine.errors import InvocationNotFound, UsageInvalid
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a decision as a table or as JSON; nothing is started and nothing is marked."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Explain the choice of an account: each candidate's windows, rates and headroom, and why it lost.",
        epilog=f"what-ifs: {FORMS}",
    )
    parser.add_argument(
        "subject", nargs="?", metavar="MODEL|RUN", help="a model, or a run: its id, or the beginning of it"
    )
    parser.add_argument(
        "--record", action="store_true", help="how right the choices of the last fortnight have been, of every model"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--refresh", action="store_true", help="read the accounts' quota first, as a run would")
    parser.add_argument(
        "--what-if", action="append", nargs="+", default=[], metavar="KEY=VALUE", help="suppose something; see below"
    )
    options = parser.parse(arguments)
    pools = context.engine.pools
    if options.record:
        if options.subject is not None or options.what_if or options.refresh:
            raise UsageInvalid("--record is about every model and what was: leave out MODEL, --refresh and --what-if")
        return _show_record(context, as_json=options.json)
    if options.subject is None:
        raise UsageInvalid(f"name a model or a run: `{context.program} {name} MODEL`, or ask for --record")
    if _is_run(options.subject, pools.names):
        if options.what_if:
            message = "--what-if supposes something of a model's next choice, not of one that was taken: name the model"
            raise UsageInvalid(message)
        try:
            document = pools.past_decision(options.subject)
        except InvocationNotFound as error:  # `beef` may be a model's name that was mistyped
            raise InvocationNotFound(f"there is no model {options.subject[:80]!r}, and {error.message}") from error
    else:
        texts = [text for group in options.what_if for text in group]
        found = pools.next_decision(options.subject, texts, show_quota_progress if options.refresh else None)
        if found.stale:
            diagnostics.note(
                f"Note: by stored readings; a run of {options.subject} would first read {', '.join(found.stale)} "
                "(--refresh)"
            )
        document = decision_to_json(found.decision)
    if options.json:
        output.write_json(document)
    else:
        output.write_block(local(why_table(document), context.clock.now()))
    return 0


def _show_record(context: Context, *, as_json: bool) -> int:
    record = context.engine.pools.record()
    if as_json:
        output.write_json(record_to_json(record))
    else:
        output.write_block(record_text(record))
    return 0


def _is_run(text: str, find_models: Callable[[], Collection[str]]) -> bool:
    """Tell whether a run is meant: a whole id always, the beginning of one where no model has that name."""
    try:
        uuid.UUID(text)
    except ValueError:
        return re.fullmatch(r"[0-9a-fA-F-]{4,}", text) is not None and text not in find_models()
    return True
