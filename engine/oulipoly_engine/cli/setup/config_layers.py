"""`config show --origin` and `config trust`: which layer says a setting, and what of a project's counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.errors import Declined
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.facade.configuration import Problem

if TYPE_CHECKING:
    from oulipoly_engine.facade.configuration import Origin


def show_origins(context: Context, *, as_json: bool) -> int:
    """Print where each setting comes from, what it hides, and what of a project's has no effect."""
    origins = context.engine.configuration.origins()
    if as_json:
        output.write_json(
            {
                "settings": {origin.key: origin_document(origin) for origin in origins.settings},
                "ignored": [{"key": each.key, "source": each.source, "why": each.why} for each in origins.ignored],
                "problems": [problem_document(problem) for problem in origins.problems],
            }
        )
        return 0
    rows = [("setting", "value", "layer", "source", "hides")]
    for origin in origins.settings:
        hidden = ", ".join(f"{each.layer} {_shown(each.value)}" for each in origin.shadowed if each.source)
        holds = origin.holds
        rows.append((origin.key, _shown(holds.value), holds.layer, _short(context, holds.source), hidden))
    output.write_lines(table(rows))
    for each in origins.ignored:
        diagnostics.note(f"ignored: {plain(each.key)} of {_short(context, each.source)}: {each.why}")
    for problem in origins.problems:
        diagnostics.note(f"{problem.level.value}: {problem.text}")
    return 0


def origin_document(origin: Origin) -> dict[str, object]:
    """Return where a setting comes from, as scripts get it."""
    shadowed = [{"layer": each.layer, "value": each.value, "source": each.source or None} for each in origin.shadowed]
    holds = origin.holds
    return {"value": holds.value, "layer": holds.layer, "source": holds.source or None, "shadowed": shadowed}


def note_ignored(context: Context, key: str | None = None) -> bool:
    """Say why a setting of this folder's project has no effect yet; return whether that is so. key: None: any."""
    ignored = context.engine.configuration.origins(Path.cwd()).ignored
    without_effect = [each for each in ignored if key in (None, each.key)]
    for each in without_effect:
        diagnostics.note(f"{'It' if key else plain(each.key)} has no effect yet: {each.why}")
    return bool(without_effect)


def _shown(value: object) -> str:
    return "" if value is None else plain(json.dumps(value, ensure_ascii=False))


def _short(context: Context, source: str) -> str:
    home = str(context.paths.home)
    return plain(source.replace(f"{home}/", "~/", 1) if source.startswith(f"{home}/") else source)


def trust(context: Context, prog: str, arguments: list[str]) -> int:
    """Show what a project sets and which prompts it has, that need a person's word, and have it count."""
    parser = Parser(prog=prog, command="config trust")
    parser.add_argument("folder", nargs="?", type=path, metavar="DIR", help="a folder of it (default: this one)")
    parser.add_argument("-y", "--yes", action="store_true", help="say yes to the question")
    options = parser.parse(arguments)
    configuration = context.engine.configuration
    project = configuration.project((options.folder or Path.cwd()).resolve())
    for key, value in project.needing_trust.items():
        output.write_line(f"{plain(key)} = {_shown(value)}")
    for name, text in project.prompts.items():
        output.write_line(f"/{plain(name)}")
        output.write_lines(f"    {plain(line)}" for line in text.splitlines())
    for place in project.extensions:
        output.write_line(f"extension {plain(place.name)}, which asks for its rights by itself")
    if project.is_trusted:
        why = "trusted already" if project.digests else "it says nothing that needs trust"
        diagnostics.note(f"{plain(str(project.file))}: {why}")
        return 0
    require_person("trust a project")
    questions = Questions(is_agreed=options.yes)
    if not questions.confirm(f"Have this of {project.folder} count, as long as it stays as it is?"):
        raise Declined("nothing was changed")
    configuration.trust(project)
    diagnostics.note(f"they count now: `{context.program} grants list` lists it, `grants revoke` ends it")
    return 0


def problem_document(problem: Problem) -> dict[str, object]:
    """Return a problem of a file as scripts get it."""
    return {
        "level": problem.level.value,
        "file": str(problem.file),
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "fix": problem.fix,
    }
