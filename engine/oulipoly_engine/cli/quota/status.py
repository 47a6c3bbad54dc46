"""`status`: one line for tmux, a prompt or a bar, from what is stored; a template says what is in it."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.cli import diagnostics, output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.config import app_file
from oulipoly_engine.config.problem import nearest
from oulipoly_engine.core.text import status_line
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade import status
from oulipoly_engine.facade.snapshot import Snapshot, SnapshotMaker
from oulipoly_engine.service.accounts.configuration import Places
from oulipoly_engine.store.base.db import open_store


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the line; nothing is read from any vendor, so that a bar may ask every few seconds."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="One line for tmux, a prompt or a bar, from what is stored: no vendor is asked.",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--format", metavar="TEXT", help="a template, such as '{worst} {next:opus} {attention_mark}'")
    which.add_argument("--template", metavar="NAME", help="one of [status] in app.toml; default: `default` of these")
    which.add_argument("--json", action="store_true", help="print every placeholder and its value")
    options = parser.parse(arguments)
    template = options.format if options.format is not None else _template(context, options.template)
    values = status.values(_snapshot(context))
    if options.json:
        output.write_json(values)
        return 0
    output.write_line(status_line.fill(template, values))
    strange = status_line.strangers(template, values)
    if strange and diagnostics.is_terminal():  # a bar shows the line alone, and the braces in it
        diagnostics.note(f"[nothing is called {', '.join(strange)}: see `{context.program} {name} --json`]")
    return 0


def _snapshot(context: Context) -> Snapshot:
    maker, now = SnapshotMaker(home=context.paths.home), context.clock.now()
    configured = Places(context.paths, context.models_dir, context.agents_dir).read()
    try:
        store = open_store(context.paths.state_db)
        try:
            return maker.make(store, configured, {}, now)
        finally:
            store.close()
    except RunnerError as error:  # a bar shows that something wants its user; `config check` and the app say what
        return maker.without_store(configured, error.message, now)


def _template(context: Context, name: str | None) -> str:
    known: Mapping[str, str] = app_file.read(context.paths).value.status
    if name is None:
        return known.get("default", status_line.DEFAULT)
    if name not in known:
        near = nearest(name, known)
        way_out = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
        message = f"[status] in {app_file.path_of(context.paths)} has no template {name!r}: {way_out}"
        raise UsageInvalid(message)
    return known[name]
