"""`doctor`: what is wrong here, what follows, and what mends it."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, seconds
from oulipoly_engine.core.text.quantities import local
from oulipoly_engine.facade import output
from oulipoly_engine.facade.base.own_process import interruptible
from oulipoly_engine.facade.checks import PATIENCE_S, Severity, count, to_document, to_lines

_EXIT_ERRORS = 1


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Check everything and tell it; exits 1 if one finding is an error."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Check configuration, CLIs, logins, quota, state file, folders, disk, runs, terminals, sessions: "
        "what is wrong, what follows, what mends it. Exits 1 if something is an error. Nothing is changed.",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=PATIENCE_S,
        metavar="SECONDS",
        help="how long a CLI may take for an answer, its version or who is logged in (%(default)g)",
    )
    options = parser.parse(arguments)
    with interruptible() as guard:  # else the CLIs that it asks would outlive it
        guard.arm()
        findings = context.engine.checks.run(options.timeout)
    if options.json:
        output.write_json(to_document(findings))
    else:
        now = context.clock.now()
        output.write_lines(local(line, now) for line in to_lines(findings))
    return _EXIT_ERRORS if count(findings, Severity.ERROR) else 0
