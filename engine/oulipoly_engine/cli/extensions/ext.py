"""`ext …`: extensions listed, allowed, switched on and off."""

from __future__ import annotations

from argparse import Namespace

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.extension_questions import ask
from oulipoly_engine.cli.base.grant_table import list_grants
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION, tell
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.facade.extensions.extensions import ExtensionStatus, status_document


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name)
    if verb in ("enable", "disable"):
        parser.add_argument("extension", metavar="NAME", help="its name, of `ext list`")
    if verb == "enable":
        parser.add_argument("--allow", action="store_true", help="allow what it asks for, without a question")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    options = parser.parse(arguments)
    match verb:
        case "list":
            return _list(context, options)
        case "enable":
            return _enable(context, options)
        case "disable":
            require_person("switch an extension off")  # it may be a guard of what agents do
            status = context.engine.extensions.disable(options.extension)
            return tell(options, status_document(status), f"extension {plain(status.installed.name)} is switched off")
    return list_grants(context, options, "extension")


def _list(context: Context, options: Namespace) -> int:
    extensions = context.engine.extensions
    statuses = extensions.list()
    clashes = extensions.clashes(statuses)
    if options.json:
        documents = [status_document(each) for each in statuses]
        output.write_json({"schema_version": SCHEMA_VERSION, "extensions": documents, "clashes": list(clashes)})
        return 0
    if not statuses:
        diagnostics.note(f"there are no extensions: put one into {context.paths.extensions}, or see docs/extensions.md")
        return 0
    rows = [("extension", "state", "from", "may", "hooks, commands, tools", "starts in", "lies in")]
    output.write_lines(table([*rows, *(_row(each) for each in statuses)]))
    for status in statuses:
        diagnostics.note(f"{plain(status.installed.name)} {status.reach}")
        if status.obstacle:
            diagnostics.note(f"{plain(status.installed.name)} cannot be started: {status.obstacle}")
        reason = status.reason or status.standing.last_failure
        if reason:
            diagnostics.note(f"{plain(status.installed.name)}: {plain(reason)}")
    for sentence in clashes:
        diagnostics.note(f"Warning: {plain(sentence)}")
    return 0


def _row(status: ExtensionStatus) -> tuple[str, ...]:
    installed = status.installed
    standing = status.standing
    manifest = installed.manifest
    rights = [str(each) if each in standing.granted else f"({each})" for each in manifest.permissions]
    has = [*manifest.hooks, *(f"/{each.name}" for each in manifest.commands), *(each.name for each in manifest.tools)]
    return (
        f"{plain(installed.name)} {plain(manifest.version)}",
        status.state,
        installed.source,
        ", ".join(rights) or "-",
        ", ".join(has) or "-",
        "-" if standing.load_ms is None else f"{standing.load_ms:.0f} ms",
        plain(installed.place),
    )


def _enable(context: Context, options: Namespace) -> int:
    extensions = context.engine.extensions
    status = extensions.find(options.extension)
    if status.missing:
        require_person("allow an extension anything")
    if status.missing and not options.allow:
        questions = Questions(is_agreed=False)
        if not questions.can_ask:
            raise UsageInvalid(f"{status.question}\nThere is no terminal to ask on: --allow says yes")
        if not ask(questions, status):
            extensions.refuse(status)
            diagnostics.note("nothing was changed")
            return 1
    if status.missing:
        extensions.allow(status)
    status = extensions.enable(options.extension)
    reason = f": {plain(status.reason)}" if status.reason else ""
    return tell(options, status_document(status), f"extension {plain(status.installed.name)} is {status.state}{reason}")
