"""`setup sync`: copy skills and MCP servers from one CLI or account to others, shown before anything is written."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import Questions, join_names
from oulipoly_engine.errors import ConfigInvalid, RequestRefused, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.setup.sync import SyncHome, SyncPlan, find_filled, tell_empty

_TITLES = {"skill": "skill", "mcp": "MCP server"}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Copy skills and MCP servers from one CLI or account to others. Without --to, list them. Each "
        "change is shown before it is written, secrets hidden; account undo undoes it.",
    )
    parser.add_argument("kind", nargs="?", choices=tuple(_TITLES), help="skill or mcp; without it, both")
    parser.add_argument("names", nargs="*", metavar="NAME", help="those to copy; without any, all")
    parser.add_argument("--from", dest="source", metavar="HOME", help="an account, or a CLI where it looks by itself")
    parser.add_argument("--to", dest="targets", action="append", default=[], metavar="HOME", help="may be repeated")
    parser.add_argument("--replace", action="store_true", help="replace what has the name and differs, too")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and write nothing")
    parser.add_argument("--json", action="store_true", help="print the list as one JSON document")
    parser.add_argument("-y", "--yes", action="store_true", help="write without a question")
    options = parser.parse(arguments)
    if not options.targets:
        return _list(context, name, options)
    if options.source is None or options.json:
        raise UsageInvalid("--to goes with --from HOME" if options.source is None else "--json lists: leave --to out")
    return _copy(context, options)


def _list(context: Context, name: str, options: Namespace) -> int:
    sync = context.engine.setup_sync
    homes = sync.homes() if options.source is None else (sync.home(options.source),)
    if options.json:
        output.write_json({"homes": [_document(home) for home in homes]})
        return 0
    for home in homes if options.source is not None else find_filled(homes):
        title = home.name if home.name == home.cli.name else f"{home.name} ({home.cli.title})"
        output.write_line(f"{title}: {home.skills_folder}")
        if options.kind != "mcp":
            output.write_line(f"  skills: {join_names(home.skills)}")
        if options.kind != "skill":
            output.write_line(f"  MCP servers: {join_names(tuple(home.servers))}")
        for problem in home.problems:
            output.write_line(f"  {problem}")
    for text in tell_empty(homes) if options.source is None else ():
        output.write_line(text)
    source = next((home for home in homes if home.skills or home.servers), None)
    target = next((home for home in homes if home is not source), None)
    if source is not None and target is not None:
        output.write_line(f"Copy: {context.program} {name} --from {source.name} --to {target.name}")
    return 0


def _document(home: SyncHome) -> dict[str, object]:
    return {
        "name": home.name,
        "cli": home.cli.name,
        "skills_dir": None if home.skills_folder is None else str(home.skills_folder),
        "skills": list(home.skills),
        "mcp_servers": dict(home.servers),
        "problems": list(home.problems),
    }


def _copy(context: Context, options: Namespace) -> int:
    sync, questions = context.engine.setup_sync, Questions(is_agreed=options.yes)
    agreed: list[SyncPlan] = []
    refused = []
    for plan, title, target in _plans(context, options):
        for note in plan.notes:
            diagnostics.note(f"Note: {title} for {target}: {note}")
        if not plan.is_needed:
            output.write_line(f"{target} has the {title} already")
            continue
        output.write_block(plan.diff)
        if options.dry_run:
            continue
        if plan.replaces and not options.replace and (options.yes or not questions.can_ask):
            refused.append(f"{target} has another {title}")
            continue
        if not questions.confirm(_question(plan, title, target)):
            refused.append(f"the {title} was not copied to {target}")
            continue
        agreed.append(plan)
    sync.apply(*agreed)
    for plan in agreed:
        output.write_line(f"{plan.what[0].upper()}{plan.what[1:]}")
    if agreed:
        output.write_line(f"Undo: {context.program} account undo")
    if refused:
        way_out = ": --replace replaces it" if any("another" in one for one in refused) else ""
        raise RequestRefused(f"{'; '.join(refused)}{way_out}" + ("" if agreed else "; nothing was changed"))
    return 0


def _question(plan: SyncPlan, title: str, target: str) -> str:
    return f"{target} has another {title}: replace it?" if plan.replaces else f"Copy the {title} to {target}?"


def _plans(context: Context, options: Namespace) -> Iterator[tuple[SyncPlan, str, str]]:
    """Yield (plan, what is copied, to which home).

    What somebody has named raises what is wrong with it; of all that a home has, the rest is copied.
    """
    sync = context.engine.setup_sync
    source, targets = sync.home(options.source), tuple(dict.fromkeys(options.targets))
    for target in targets:
        sync.home(target)  # no CLI of that name: said once, before anything is copied
    for target in targets:
        for kind in (options.kind,) if options.kind else tuple(_TITLES):
            for name in options.names or (source.skills if kind == "skill" else tuple(source.servers)):
                title = f"{_TITLES[kind]} {name}"
                try:
                    plan = sync.plan(kind, options.source, target, name)
                except (ConfigInvalid, RequestRefused, UsageInvalid) as error:
                    if options.names:
                        raise
                    diagnostics.note(f"Left out: {title} for {target}: {error.message}")
                    continue
                yield plan, title, target
