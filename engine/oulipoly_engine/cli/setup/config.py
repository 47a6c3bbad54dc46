"""`config`: what is configured, where it lies, and everything that is wrong with it."""

from __future__ import annotations

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.core.text.nearest import nearest
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.configuration import Level, Problem, as_text, json_schema, schema_titles

_EXIT_PROBLEMS = 2


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one configuration command."""
    parser = Parser(prog=f"{context.program} {name}", description="Look at the configuration.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for command, text in (
        ("check", "report every problem of every file; exits 2 if one is an error"),
        ("path", "print where the files lie"),
        ("show", "print what is in force, secrets masked"),
    ):
        commands.add_parser(command, help=text, description=text).add_argument("--json", action="store_true")
    text = "write a first configuration for the CLIs of this machine; what exists is never changed"
    first = commands.add_parser("init", help=text, description=text)
    first.add_argument("--dry-run", action="store_true", help="print the files instead of writing them")
    text = "print the JSON Schema of a file, for editors; without FILE the names of the files"
    schema = commands.add_parser("schema", help=text, description=text)
    schema.add_argument("file", nargs="?", metavar="FILE", help="providers, model, config, ...")
    options = parser.parse_plain(arguments)
    if options.command == "schema":
        return _schema(context, options.file)
    if options.command == "init":
        return _init(context, is_dry=options.dry_run)
    return {"check": _check, "path": _path, "show": _show}[options.command](context, as_json=options.json)


def _check(context: Context, *, as_json: bool) -> int:
    problems = context.engine.configuration.check()
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if as_json:
        output.write_json({"problems": [_document(problem) for problem in problems], "errors": len(errors)})
        return _EXIT_PROBLEMS if errors else 0
    for problem in problems:
        output.write_line(f"{problem.level.value}: {problem.text}")
    if not problems:
        output.write_line(f"no problems in {context.paths.config}")
    else:
        output.write_line(f"{len(errors)} errors, {len(problems) - len(errors)} warnings")
    return _EXIT_PROBLEMS if errors else 0


def _document(problem: Problem) -> dict[str, object]:
    return {
        "level": problem.level.value,
        "file": str(problem.file),
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "fix": problem.fix,
    }


def _path(context: Context, *, as_json: bool) -> int:
    paths = context.paths
    named = {
        "config": paths.config,
        "providers": paths.providers,
        "settings": paths.settings,
        "sessions": paths.sessions,
        "models": context.models_dir or paths.models,
        "agents": context.agents_dir or paths.agents,
        "data": paths.data,
        "state": paths.state_db,
    }
    if as_json:
        output.write_json({name: str(path) for name, path in named.items()})
        return 0
    for name, path in named.items():
        output.write_line(f"{name:<10}{path}{'' if path.exists() else '  (not there)'}")
    return 0


def _show(context: Context, *, as_json: bool) -> int:
    values = context.engine.configuration.effective()
    if as_json:
        output.write_json(values)
    else:
        output.write_block(as_text(values))
    return 0


def _schema(context: Context, file: str | None) -> int:
    titles = schema_titles()
    if file is None:
        for name, title in titles.items():
            output.write_line(f"{name:<11}{title}")
        return 0
    if file not in titles:
        found = nearest(file.removesuffix(".toml"), titles)
        hint = f"did you mean {found[0]}?" if found else f"known are {', '.join(titles)}"
        message = f"{context.program} config schema: there is no schema of {file!r}: {hint}"
        raise UsageInvalid(message)
    output.write_json(json_schema(file))
    return 0


def _init(context: Context, *, is_dry: bool) -> int:
    configuration = context.engine.configuration
    found = configuration.first_set_up()
    for note in found.notes:
        diagnostics.note(f"Note: {note}")
    if is_dry:
        for change in found.files:
            output.write_line(f"# {change.path}")
            output.write_block(f"{change.after}\n")
        return 0
    configuration.write_set_up(found)
    for change in found.files:
        output.write_line(f"wrote {change.path}")
    output.write_line(f"{context.program} config check tells what is wrong; {context.program} quota-check reads quota")
    return 0
