"""`state rebuild`, `state backfill` and `config migrate`: bringing older state and configuration forward."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the migration that was asked for."""
    return {"state rebuild": _rebuild, "state backfill": _backfill, "config migrate": _config}[name](
        context, name, arguments
    )


def _rebuild(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument("-y", "--yes", action="store_true", help="do it: what it holds is kept in the backup only")
    parser.accept_older("--rebuild", "--yes")
    options = parser.parse(arguments)
    if not options.yes:
        parser.error(
            f"say --yes (or --rebuild) to set {context.paths.state_db} aside: what it holds is then in the backup only"
        )
    folder = context.engine.state_file.rebuild()
    output.write_line(f"backup: {folder}")
    output.write_line(f"fresh state file: {context.paths.state_db}")
    output.write_line("The live rows were not kept; they are in the backup.")
    if (archive := context.paths.data / "archive").is_dir():
        output.write_line(f"Kept copies of transcripts stay in {archive}; only the backup's state file knows them.")
    return 0


def _backfill(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        more="Those are sessions and compaction marks.",
    )
    parser.parse(arguments)
    done = context.engine.state_file.backfill()
    output.write_line(f"sessions: {done.chains} made")
    output.write_line(f"compaction boundaries: {done.compactions} marked")
    return 0


def _config(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}", description="Move old model files' account settings into providers.toml."
    )
    parser.add_argument(
        "--models-dir", type=path, metavar="DIR", default=context.models_dir, help="folder of model files"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the difference, write nothing")
    options = parser.parse(arguments)
    configuration = context.with_models(options.models_dir).engine.configuration
    migration = configuration.migration()
    plan = migration.plan
    for text in plan.notes:
        diagnostics.note(text)
    if not plan.files:
        output.write_line("nothing to migrate: the configuration is in its present form")
        return 0
    if options.dry_run:
        output.write_block(migration.diff)
        return 0
    configuration.migrate(migration)
    for change in plan.files:
        output.write_line(f"wrote {change.path}")
    return 0
