"""`wait`: wait for the end of a run, whoever runs it, and print its result."""

from __future__ import annotations

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print the result line of a run once it has ended, and return its exit code."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Wait for a run's end, print its result line and end with its exit code. A CLI whose runner was "
        "killed is waited for too: its answer is lost, but what it did is in its session.",
    )
    parser.add_argument("invocation", metavar="RUN", help="the UUID that OULIPOLY_INVOCATION shows, or its beginning")
    ended = context.engine.orphans.wait(parser.parse(arguments).invocation)
    output.write_line(ended.line)
    return ended.exit_code
