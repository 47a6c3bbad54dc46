"""`status`: one line for tmux, a prompt or a bar, from what is stored; a template says what is in it."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.core.text import status_line
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import NotConfigured, UsageInvalid
from oulipoly_engine.facade import diagnostics, output, status


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the line; nothing is read from any vendor, so that a bar may ask every few seconds.

    Where there is no account yet, that is said and the command ends with 1, as the others do; a template of the user's
    own is filled in and ends with 0 even then, for it stands in a prompt.
    """
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        more="It comes from what is stored: no vendor is asked.",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--format", metavar="TEXT", help="a template, such as '{worst} {next:opus} {attention_mark}'")
    which.add_argument("--template", metavar="NAME", help="one of [status] in app.toml; default: `default` of these")
    which.add_argument("--json", action="store_true", help="print every placeholder and its value")
    options = parser.parse(arguments)
    template = options.format if options.format is not None else _find_template(context, options.template)
    snapshot = context.engine.snapshot()
    live = context.engine.live if snapshot.is_asked else None  # 60 ms, and mostly nobody is asked
    values = status.values(snapshot, () if live is None else tuple(map(live.request_alert, live.requests())))
    is_empty = not (snapshot.accounts or snapshot.pools or values["attention_mark"])
    how_to_begin = f"no account yet: `{context.command} account add`" if is_empty else ""
    if options.json:
        output.write_json(status.known_values(values))
        if is_empty:
            raise NotConfigured(how_to_begin)
        return 0
    if template is None and is_empty:
        output.write_line(how_to_begin)  # on stdout, so that a bar shows it
        return NotConfigured.exit_code
    if template is None:
        output.write_line(status_line.fill_default(values, output.columns()))
        return 0
    output.write_line(status_line.fill(template, values))
    strange = status_line.strangers(template, values)
    if strange and diagnostics.is_terminal():  # a bar shows the line alone, and the braces in it
        diagnostics.note(f"[nothing is called {', '.join(strange)}: see `{context.program} {name} --json`]")
    return 0


def _find_template(context: Context, name: str | None) -> str | None:
    """Return the template of that name, or the user's own default; None: there is none."""
    known: Mapping[str, str] = context.engine.configuration.app().value.status
    if name is None:
        return known.get("default")
    if name not in known:
        near = nearest(name, known)
        way_out = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"
        raise UsageInvalid(f"[status] in {context.paths.config / 'app.toml'} has no template {name!r}: {way_out}")
    return known[name]
