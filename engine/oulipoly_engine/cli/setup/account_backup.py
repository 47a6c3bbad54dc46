"""`account export|import`: accounts and pools as one file, without logins and secrets."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.errors import Declined, NameTaken
from oulipoly_engine.facade import diagnostics, output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    return (_export if name.endswith("export") else _import)(context, name, arguments)


def _export(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Print a backup of accounts and pools. It has no login and no secret; what is left out is said.",
    )
    parser.parse(arguments)
    backup = context.engine.account_setup.changes.export()
    for place in backup.left_out:
        diagnostics.note(f"Note: {place} looks like a secret and is not in the backup")
    output.write_block(backup.text)
    return 0


def _import(context: Context, name: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Add the accounts and pools of a backup that are not here yet. What is here stays as it is.",
    )
    parser.add_argument("file", type=path, metavar="FILE", help="a backup; - for stdin")
    parser.add_argument("--skip", action="store_true", help="leave out what is here already in other words")
    parser.add_argument("-y", "--yes", action="store_true", help="write without a question")
    options = parser.parse(arguments)
    setup = context.engine.account_setup.changes
    found, step = setup.plan_import(_read(options.file), options.file)
    questions = Questions(is_agreed=options.yes)
    if found.clashes and not options.skip:
        clash = f"{', '.join(found.clashes)}: what is here says something else"
        if not questions.can_ask or options.yes or not questions.confirm(f"{clash}, and stays. Import the rest?"):
            raise NameTaken(f"{clash}: rename one of the two, or leave it out with --skip; nothing was changed")
    if not step.files:
        output.write_line("nothing to import: all of it is here")
        return 0
    if not questions.confirm_changes(setup.diff(step.files), f"Write {len(step.files)} files?"):
        raise Declined("nothing was changed")
    setup.write(step)
    output.write_line(f"{step.what[0].upper()}{step.what[1:]}. Undo: {context.program} account undo")
    for account in found.accounts:
        output.write_line(f"{context.program} account login {account} logs in")
    return 0


def _read(place: Path) -> str:
    if str(place) == "-":
        return stdio.read_piped_text()
    with stdio.open_file(place) as file:
        return stdio.read_text(file)
