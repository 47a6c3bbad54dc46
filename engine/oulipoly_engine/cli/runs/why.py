"""`why`: the decision that a run would get now, or the one that a run got."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from oulipoly_engine.cli import diagnostics, output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.progress import Progress
from oulipoly_engine.cli.wiring import refresher, told
from oulipoly_engine.config import load
from oulipoly_engine.core.accounts.accounts import Model
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.what_if import FORMS, parse, suppose
from oulipoly_engine.core.balance.why_table import why_table
from oulipoly_engine.core.quota.staleness import is_routing_stale
from oulipoly_engine.errors import InvocationNotFound, UsageInvalid
from oulipoly_engine.service.quota.choose import candidates, decide_among
from oulipoly_engine.service.quota.refresh import Wish
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.runs import invocations


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a decision as a table or as JSON; nothing is started and nothing is marked."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Explain the choice of an account: each candidate with its windows, rates, score and why it lost.",
        epilog=f"what-ifs: {FORMS}",
    )
    parser.add_argument("subject", metavar="MODEL|INVOCATION", help="a model, or the UUID of an invocation")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--refresh", action="store_true", help="read the accounts' quota first, as a run would")
    parser.add_argument(
        "--what-if", action="append", nargs="+", default=[], metavar="KEY=VALUE", help="suppose something; see below"
    )
    options = parser.parse(arguments)
    store = open_store(context.paths.state_db)
    if _is_uuid(options.subject):
        if options.what_if:
            message = "--what-if supposes something of a model's next choice, not of one that was taken: name the model"
            raise UsageInvalid(message)
        document = _stored(store, options.subject)
    else:
        texts = [text for group in options.what_if for text in group]
        document = _present(context, store, options.subject, texts, reads_first=options.refresh)
    if options.json:
        output.write_json(document)
    else:
        output.write_bytes(why_table(document).encode("utf-8", "replace"))
    store.close()
    return 0


def _present(context: Context, store: Store, name: str, texts: list[str], *, reads_first: bool) -> Mapping[str, Any]:
    model = told(load.load_model(context.paths, name, context.models_dir))
    settings = told(load.load_settings(context.paths))
    names = tuple(dict.fromkeys(member.account for member in model.members))
    suppositions = parse(texts, names)
    accounts = told(load.load_accounts(context.paths))
    reader = refresher(context, store, accounts)
    if reads_first:
        with Progress("reading quota", len(names)) as progress:
            reader.refresh([each for each in names if reader.source(each)], Wish(), progress.step)
    else:
        _tell_age(context, store, model, [each for each in names if reader.source(each)], settings.routing_ttl_s)
    pool = suppose(candidates(store, model, context.clock.now(), accounts), suppositions)
    decision = decide_among(store, model, pool, settings, context.clock.now())
    return decision_to_json(decision)


def _tell_age(context: Context, store: Store, model: Model, names: list[str], ttl_s: float) -> None:
    now = context.clock.now()
    stale = [name for name, state in quotas.states(store, names).items() if is_routing_stale(state, now, ttl_s)]
    if stale:
        diagnostics.note(
            f"Note: by stored readings; a run of {model.name} would first read {', '.join(stale)} (--refresh)"
        )


def _stored(store: Store, text: str) -> Mapping[str, Any]:
    row = invocations.find(store, str(uuid.UUID(text)))
    if row is None:
        message = f"no invocation {text} is recorded in {store.path}"
        raise InvocationNotFound(message)
    stored = invocations.decision_json(store, row.row_id)
    if stored is None:
        message = f"the invocation {text} was started without a choice, so there is no decision to explain"
        raise InvocationNotFound(message)
    document: Mapping[str, Any] = json.loads(stored)
    return document


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
