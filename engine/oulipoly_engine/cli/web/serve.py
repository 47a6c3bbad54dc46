"""`serve`: the server, for scripts and phones."""

from __future__ import annotations

import os

from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output

# ruff: noqa: PLC0415 - the server's libraries take half a second, and only a server needs them

_HIGHEST_PORT = 65535
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve until INT or TERM."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Serve sessions to scripts (REST) and phones (pages). Nobody but this computer reaches it unless "
        "--host says so.",
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on")
    parser.add_argument("--port", type=int, metavar="PORT", help="default: 8787, or another where it is taken; 0: any")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy on this computer does the encryption")
    parser.add_argument("--json", action="store_true", help="print the address as one line of JSON")
    options = parser.parse(arguments)
    if options.port is not None and not 0 <= options.port <= _HIGHEST_PORT:
        raise UsageInvalid(f"argument --port: {options.port} is not between 0 and {_HIGHEST_PORT}")
    from oulipoly_engine.web.app import make_app
    from oulipoly_engine.web.serve import DEFAULT_PORT, bind, serve

    bound = bind(options.host, options.port)
    if bound.is_fallback:
        diagnostics.note(f"port {DEFAULT_PORT} is taken: this server has port {bound.port}")
    shown = f"[{options.host}]" if ":" in options.host else options.host
    url = f"http://{shown}:{bound.port}"
    if options.json:
        output.write_json({"url": url, "pid": os.getpid()}, pretty=False)
    else:
        output.write_line(f"serving on {url}, ctrl+c ends it")
    try:
        serve(make_app(context.engine), bound)
    finally:
        context.engine.close()
    return 0
