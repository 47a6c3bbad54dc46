"""`serve`: the server, for scripts and phones."""

from __future__ import annotations

import ipaddress
import os
import shlex
from typing import TYPE_CHECKING

from oulipoly_engine import variables
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.core.web.devices import OFFERED
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from argparse import Namespace

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.web.serve import Server

# ruff: noqa: PLC0415 - the server's libraries take half a second, and only a server needs them

_HIGHEST_PORT = 65535


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve until INT or TERM."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Serve sessions to scripts (REST) and phones (pages). Nobody but this computer reaches it unless "
        "--host says so; then it speaks TLS, with a certificate of its own.",
    )
    parser.add_argument(
        "--host", metavar="ADDRESS", help=f"address to listen on (127.0.0.1, or ${variables.SERVE_HOST})"
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help=f"default: ${variables.SERVE_PORT}, else 8787, or another where it is taken; 0: any",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name that it is reached by, such as laptop.local or a proxy's; repeatable",
    )
    parser.add_argument(
        "--behind-proxy", action="store_true", help="a proxy on this computer speaks TLS and passes requests on"
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="the same for a proxy elsewhere, by its address or network; nobody else is served without TLS; repeatable",
    )
    parser.add_argument("--json", action="store_true", help="print the address and a code as one line of JSON")
    parser.add_argument("--reload", action="store_true", help="start again when a file of this program changes")
    options = parser.parse(arguments)
    _take_environment(options)
    _check(options)
    from oulipoly_engine.facade.engine import Engine, Surroundings
    from oulipoly_engine.web.serve import DEFAULT_PORT, start

    # While a file is broken, what it said before stands in, as in the app: a server goes on.
    engine = Engine(
        Surroundings(
            paths=replace(context.paths, above=replace(context.paths.above, project=None)),  # it serves all folders
            clock=context.clock,
            models_dir=context.models_dir,
            agents_dir=context.agents_dir,
            note=diagnostics.note,
            find_app_faults=context.find_app_faults,
        )
    )
    server = start(
        engine,
        address=options.host,
        port=options.port,
        names=tuple(options.allow_host),
        behind_proxy=options.behind_proxy,
        proxies=tuple(ipaddress.ip_network(text, strict=False) for text in options.proxy),
        reloads=options.reload,
    )
    with server:
        if server.is_fallback:
            diagnostics.note(f"port {DEFAULT_PORT} is taken: this server has port {server.port}")
        _tell(context, engine, server, options)
        changed = server.run()
    if changed:
        start_again(server.port)
    return 0


def _take_environment(options: Namespace) -> None:
    """Take from the environment what the command line does not say."""
    if options.host is None:
        options.host = os.environ.get(variables.SERVE_HOST) or "127.0.0.1"
    port = os.environ.get(variables.SERVE_PORT, "")
    if options.port is None and port:
        if not port.isdecimal() or len(port) > len(str(_HIGHEST_PORT)):
            raise UsageInvalid(f"{variables.SERVE_PORT} is {port[:60]!r}, which is not a port")
        options.port = int(port)


def _check(options: Namespace) -> None:
    if options.port is not None and not 0 <= options.port <= _HIGHEST_PORT:
        raise UsageInvalid(f"argument --port: {options.port} is not between 0 and {_HIGHEST_PORT}")
    try:
        ipaddress.ip_address(options.host)
    except ValueError as error:
        message = f"argument --host: {options.host[:60]!r} is not an address, such as 127.0.0.1 or 0.0.0.0"
        raise UsageInvalid(message) from error
    for text in options.proxy:
        try:
            names_everybody = ipaddress.ip_network(text, strict=False).prefixlen == 0
        except ValueError as error:
            message = f"argument --proxy: {text[:60]!r} is not an address or a network, such as 192.0.2.7 or 10.0.0.0/8"
            raise UsageInvalid(message) from error
        if names_everybody:
            raise UsageInvalid(f"argument --proxy: {text!r} is everybody: name the proxy's own address")
    for name in options.allow_host:
        if not name or len(name) > 253 or any(not (letter.isalnum() or letter in ".-:") for letter in name):
            raise UsageInvalid(f"argument --allow-host: {name[:60]!r} is not a host's name")


def _tell(context: Context, engine: Engine, server: Server, options: Namespace) -> None:
    code = engine.web.make_code(scopes=OFFERED).code
    if options.json:
        document = {"url": server.url, "pid": os.getpid(), "code": code, "socket": str(server.own_path)}
        fingerprint = {"fingerprint": server.fingerprint} if server.fingerprint else {}
        output.write_json(document | fingerprint, pretty=False)
        return
    output.write_line(f"serving on {server.url}, ctrl+c ends it")
    output.write_line(f"open {server.url}/pair#{code} in a browser of yours, within two minutes, once")
    if server.fingerprint:
        output.write_line(f"its certificate is of its own; the browser must show this SHA-256: {server.fingerprint}")
    words = shlex.join(["curl", "--unix-socket", str(server.own_path), "http://localhost/sessions"])
    output.write_line(f"a script of yours, without a code: `{words}`")
    output.write_line(f"a phone: `{context.program} device pair` shows a QR code")


def start_again(port: int) -> None:
    """Become the same command again, at the port that it had."""
    import sys

    from oulipoly_engine.facade.base.own_process import inherited_environment, replace_process

    diagnostics.note("a file has changed: the server starts again")
    # The last --port counts: whoever talks to the server finds it where it was.
    words = (*sys.argv[1:], "--port", str(port))
    replace_process((sys.executable, "-m", "oulipoly_tui", *words), inherited_environment())
