"""`config enable`, `config disable`, `config list`: extensions, skills, prompts and themes that are on or off."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.setup.config_layers import note_ignored
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person

_TYPE = "extension, skill, prompt or theme; the plural too"


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    if name == "config list":
        return _list(context, f"{context.program} {name}", arguments)
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument("type", metavar="TYPE", help=_TYPE)
    parser.add_argument("name", metavar="NAME", help="its name; or, to add it, the path of a file or a folder")
    parser.add_argument("--project", action="store_true", help="in the project of this folder, not in your own file")
    options = parser.parse(arguments)
    is_on = name == "config enable"
    if not is_on and options.type.lower().startswith("extension"):
        require_person("switch an extension off")  # as `ext disable`
    configuration = context.engine.configuration
    kind, called = configuration.switch_resource(
        options.type, options.name, is_on=is_on, folder=Path.cwd() if options.project else None
    )
    output.write_line(f"{kind} {plain(called)} is switched {'on' if is_on else 'off'}")
    if not (options.project and note_ignored(context, f"{kind}s")):
        for resource in configuration.list_resources(kind):
            if resource.name == called and resource.is_on is not is_on and resource.said_by is not None:
                diagnostics.note(f"It has no effect here: {plain(resource.said_by.source)} says otherwise")
    diagnostics.note(f"Undo: {context.program} account undo")
    return 0


def _list(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, command="config list")
    parser.add_argument("type", nargs="?", metavar="TYPE", help=f"{_TYPE}; without it, all")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    resources = context.engine.configuration.list_resources(options.type)
    if options.json:
        documents = [
            {
                "type": each.type,
                "name": each.name,
                "enabled": each.is_on,
                "path": each.place or None,
                "layer": each.said_by.layer if each.said_by else None,
                "source": each.said_by.source if each.said_by else None,
            }
            for each in resources
        ]
        output.write_json({"resources": documents})
        return 0
    home = f"{context.paths.home}/"
    rows = [("type", "name", "is", "lies in", "said by")]
    for each in resources:
        source = "" if each.said_by is None else each.said_by.source.replace(home, "~/", 1)
        state = "on" if each.is_on else "off"
        rows.append((each.type, plain(each.name), state, plain(each.place.replace(home, "~/", 1)), plain(source)))
    if resources:
        output.write_lines(table(rows))
    else:
        diagnostics.note(f"[none: `{context.program} config enable TYPE PATH` adds what lies elsewhere]")
    return 0
