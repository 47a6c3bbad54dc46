"""`config`: what is configured, where it lies, and everything that is wrong with it."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.cli.setup import preconditions
from oulipoly_engine.cli.setup.config_layers import problem_document, show_origins, trust
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import Declined, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.configuration import Level, as_text, json_schema, schema_titles

_EXIT_PROBLEMS = 2


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    served = {
        "config check": _check,
        "config path": _path,
        "config show": _show,
        "config schema": _schema,
        "config init": _init,
        "config trust": trust,
    }
    return served[name](context, f"{context.program} {name}", arguments)


def _read_form(prog: str, description: str, arguments: list[str]) -> bool:
    """Return whether JSON is wanted, the one thing that can be said here."""
    parser = Parser(prog=prog, description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return bool(parser.parse(arguments).json)


def _check(context: Context, prog: str, arguments: list[str]) -> int:
    as_json = _read_form(prog, "Report every problem of every file. Exits with 2 if one is an error.", arguments)
    problems = context.engine.configuration.check()
    if not problems:
        preconditions.require_configuration(context)
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if as_json:
        output.write_json({"problems": [problem_document(problem) for problem in problems], "errors": len(errors)})
        return _EXIT_PROBLEMS if errors else 0
    for problem in problems:
        output.write_line(f"{problem.level.value}: {problem.text}")
    if not problems:
        output.write_line(f"no problems in {context.paths.config}")
    else:
        output.write_line(f"{len(errors)} errors, {len(problems) - len(errors)} warnings")
    return _EXIT_PROBLEMS if errors else 0


def _path(context: Context, prog: str, arguments: list[str]) -> int:
    as_json = _read_form(prog, "Print where the files lie.", arguments)
    paths = context.paths
    named = {
        "config": paths.config,
        "providers": paths.providers,
        "settings": paths.settings,
        "app": paths.config / "app.toml",
        "sessions": paths.sessions,
        "models": context.models_dir or paths.models,
        "agents": context.agents_dir or paths.agents,
        "prompts": paths.prompts,
        "themes": paths.config / "themes",
        "project": context.engine.configuration.find_project_file(Path.cwd()),
        "data": paths.data,
        "state": paths.state_db,
    }
    if as_json:
        output.write_json({name: None if path is None else str(path) for name, path in named.items()})
        return 0
    for name, path in named.items():
        where = "(this folder is in none)" if path is None else str(path)
        is_there = path is None or path.exists()
        output.write_line(f"{name:<10}{where}{'' if is_there else '  (not there)'}")
    return 0


def _show(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Print all settings in force, secrets masked.")
    parser.add_argument("--origin", action="store_true", help="of each setting: which layer says it, and what it hides")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    if options.origin:
        return show_origins(context, as_json=options.json)
    as_json = options.json
    values = context.engine.configuration.effective()
    if as_json:
        output.write_json(values)
    else:
        output.write_block(as_text(values))
    return 0


def _schema(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(prog=prog, description="Print the JSON Schema of a file, for editors; without FILE their names.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="providers, model, config, ...")
    file = parser.parse(arguments).file
    titles = schema_titles()
    if file is None:
        for name, title in titles.items():
            output.write_line(f"{name:<11}{title}")
        return 0
    if file not in titles:
        found = nearest(file.removesuffix(".toml"), titles)
        hint = f"did you mean {found[0]}?" if found else f"known are {', '.join(titles)}"
        raise UsageInvalid(f"there is no schema of {file!r}: {hint}")
    output.write_json(json_schema(file))
    return 0


def _init(context: Context, prog: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=prog,
        description="Add the logins of this machine that are not accounts yet. What is there already stays.",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="write without a question")
    options = parser.parse(arguments)
    configuration = context.engine.configuration
    found = configuration.set_up()
    for note in found.notes:
        diagnostics.note(f"Note: {note}")
    if not found.files:
        output.write_line("nothing to add: no login was found that is not an account yet")
        return 0
    diff = context.engine.account_setup.changes.diff(found.files)
    if options.dry_run:
        output.write_block(diff)
        return 0
    if not Questions(is_agreed=options.yes).confirm_changes(diff, f"Write {len(found.files)} files?"):
        raise Declined("nothing was changed")
    configuration.write_set_up(found)
    for change in found.files:
        output.write_line(f"wrote {change.path}")
    output.write_line(f"{context.program} account undo undoes it; {context.program} quota check reads quota")
    return 0
