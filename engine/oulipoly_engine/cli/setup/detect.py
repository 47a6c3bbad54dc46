"""`setup detect`: what is installed on this machine, and who is logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.facade import output
from oulipoly_engine.facade.base.own_process import interruptible

if TYPE_CHECKING:
    from oulipoly_engine.facade.accounts.detection import Detected


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Find the CLIs of this machine, their versions, their homes and who is logged in; no token is read "
        "out. Nothing is written to the configuration.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--models", action="store_true", help="ask each CLI which models it offers, too")
    options = parser.parse(arguments)
    with interruptible() as guard:  # else the CLIs that it asks would outlive it
        guard.arm()
        found = context.engine.account_setup.detection.detect(finds_models=options.models)
    if options.json:
        output.write_json(found.document())
        return 0
    _show(found, context.program)
    return 0


def _show(found: Detected, program: str) -> None:
    report = found.report
    for cli in report.clis:
        if cli.path is None:
            output.write_line(f"{cli.name}: not installed")
        else:
            older = found.changes.get(cli.name)
            changed = f", was {older}" if older is not None else ""
            output.write_line(
                f"{cli.name}: {cli.version or f'version not known, it {cli.problem}'}{changed}, {cli.path}"
            )
        if found.models is not None and cli.path is not None:
            names = ", ".join(found.models.get(cli.name, ()))
            output.write_line(f"  models: {names or 'it does not tell'}")
        for home in cli.homes:
            account = found.accounts.get(home.folder.resolve())
            who = ", ".join(profile.text for profile in home.profiles)
            who = ": ".join(filter(None, (who, home.problem))) or "nobody is logged in"
            owner = f"account {account}" if account is not None else f"no account yet: {program} config init adds it"
            output.write_line(f"  {home.folder}: {who}; {owner}")
    for wrapper in report.wrappers:
        output.write_line(f"wrapper {wrapper.path}: starts {wrapper.cli}")
    output.write_line(f"system: {report.os_type}, {report.architecture}")
