"""`registry serve`: the registry that is built in."""

from __future__ import annotations

import ipaddress
import os

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.base.own_process import require_person

# ruff: noqa: PLC0415 - the server's libraries take 0.2 s, and only a server needs them

_PORT = 5527
_HIGHEST_PORT = 65535


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve until INT or TERM."""
    more = "It asks nobody who they are: whoever reaches the address may pull, push and delete."
    parser = Parser(prog=f"{context.program} {name}", command=name, more=more)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=_PORT, metavar="PORT", help=f"default: {_PORT}; 0: any")
    parser.add_argument("--json", action="store_true", help="print one JSON document, on one line")
    options = parser.parse(arguments)
    if not 0 <= options.port <= _HIGHEST_PORT:
        raise UsageInvalid(f"argument --port: {options.port} is not between 0 and {_HIGHEST_PORT}")
    try:
        address = ipaddress.ip_address(options.host)
    except ValueError as error:
        raise UsageInvalid(f"argument --host: {options.host[:60]!r} is not an address, such as 127.0.0.1") from error
    if not address.is_loopback:
        require_person("serve a registry beyond this computer")
        diagnostics.note(f"anybody who reaches {address} may pull, push and delete images here")
    from oulipoly_engine.web.registry.serve import listen, serve

    registry = context.engine.registry.open()
    listener = listen(options.host, options.port)
    host = f"[{address}]" if address.version == 6 else str(address)
    url = f"http://{host}:{listener.getsockname()[1]}"

    def tell() -> None:
        if options.json:
            output.write_json({"url": url, "pid": os.getpid()}, pretty=False)
        else:
            output.write_line(f"serving images on {url}, ctrl+c ends it")

    with listener:
        serve(registry, listener, tell)
    return 0
