"""`ext serve`: what CLIs start to reach the tools of extensions; it speaks the Model Context Protocol on stdin."""

from __future__ import annotations

import os

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.base.own_process import inherited_environment, interruptible


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve until the client leaves."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
        description="Offer the tools and skills of extensions to a CLI, which starts this by itself.",
    )
    parser.add_argument(
        "server", nargs="?", metavar="SERVER", help="an MCP server of an extension, to run that instead"
    )
    parser.add_argument("--agent", action="store_true", help="offer what an agent's token in RUNNER_AGENT_TOKEN gives")
    options = parser.parse(arguments)
    serving = context.engine.serving
    if options.server is not None:
        serving.run_server(options.server)
    if os.isatty(0):
        raise UsageInvalid("`ext serve` speaks to a program, not to a person: CLIs start it by themselves")
    write = output.take_stdout()
    with interruptible() as guard:
        guard.arm()  # a CLI ends us in the middle of a call: that is no failure of the extension
        if options.agent:
            token = inherited_environment().get("RUNNER_AGENT_TOKEN", "")
            serving.serve_agent(lambda size: os.read(0, size), write, token)
        else:
            serving.serve(lambda size: os.read(0, size), write)
    return 0
