"""Run the app on a socket until INT or TERM."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import uvicorn
from fastapi import FastAPI

from oulipoly_engine.errors import RequestRefused, RunnerError
from oulipoly_engine.web.access.forwarded import Network
from oulipoly_engine.web.access.gate import Serving
from oulipoly_engine.web.api.streams import Hub
from oulipoly_engine.web.app import make_app
from oulipoly_engine.web.attention import Attention
from oulipoly_engine.web.connections import BoundedListener, Connections, Limits, find_limits
from oulipoly_engine.web.notices import Notices
from oulipoly_engine.web.own_socket import OwnSocket
from oulipoly_engine.web.patient_protocol import PatientProtocol
from oulipoly_engine.web.server_base import BACKLOG, PATIENCE_S, SignalServer, listen

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.web.access.authority import Certificate

DEFAULT_PORT = 8787


class Server:
    """A server whose socket listens; a context that ends what belongs to it."""

    def __init__(
        self,
        engine: Engine,
        bound: BoundedListener,
        own_socket: OwnSocket,
        serving: Serving,
        certificate: Certificate | None,
        address: str,
    ) -> None:
        self._engine, self._socket, self._certificate = engine, bound, certificate
        self._own_socket = own_socket
        self.own_path = own_socket.path  # where the user's own programs reach it, without a token
        self.port: int = bound.getsockname()[1]
        self.is_fallback = False
        self.reloads = False
        self.fingerprint = "" if certificate is None else certificate.fingerprint
        shown = address if not ipaddress.ip_address(address).is_unspecified else _own_address(address)
        name = f"[{shown}]" if ":" in shown else shown
        self.url = f"{'http' if certificate is None else 'https'}://{name}:{self.port}"
        self.public_url = self.url
        self.app: FastAPI = make_app(engine, serving)
        self._uvicorn = _Uvicorn(self._configure(), self.app.state.hub.close, own_socket)
        self._signals = ExitStack()

    def __enter__(self) -> Self:
        """Note that it serves, for other commands; from now on a signal ends it in order, even before `run`."""
        self._signals.enter_context(self._uvicorn.capture_signals())
        self._engine.web.note_server(self.public_url, self.fingerprint)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the socket and the engine."""
        self._socket.close()
        self._own_socket.close()
        self._engine.web.forget_server()
        self._engine.close()
        self._signals.close()

    def _configure(self) -> uvicorn.Config:
        return uvicorn.Config(
            self.app,
            log_config=None,
            log_level="error",  # not what strangers send: anybody could fill the terminal
            access_log=False,
            lifespan="off",
            loop="asyncio",  # another one would accept without our socket
            http=PatientProtocol,
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=PATIENCE_S,
            ssl_certfile=None if self._certificate is None else self._certificate.chain,
        )

    def run(self) -> bool:
        """Serve until INT, TERM, HUP or QUIT. Returns whether a file of the program has changed instead."""
        hub: Hub = self.app.state.hub
        attention = Attention(self._engine, hub, Notices(self._engine, self.public_url))
        ended = threading.Event()
        changed: list[bool] = []
        if self.reloads:
            threading.Thread(target=_watch, args=(ended, changed, self._uvicorn), daemon=True).start()
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            ended.set()
            attention.close()
        return bool(changed)

    def stop(self) -> None:
        """Have `run` return; from any thread."""
        self._uvicorn.should_exit = True


class _Uvicorn(SignalServer):
    """The server of the app, with its own socket beside the others, and streams that end with it."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None], own_socket: socket.socket) -> None:
        super().__init__(config)
        self._end_streams = end_streams
        self._own_socket = own_socket

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        # Not one of `sockets`: those speak TLS where there is a certificate.
        self.servers.append(await loop.create_server(self._make_protocol, sock=self._own_socket, backlog=BACKLOG))

    def _make_protocol(self) -> PatientProtocol:
        return PatientProtocol(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()  # they would wait for ever
        await super().shutdown(sockets)


def start(
    engine: Engine,
    *,
    address: str,
    port: int | None,
    names: tuple[str, ...] = (),
    behind_proxy: bool = False,
    proxies: tuple[Network, ...] = (),
    reloads: bool = False,
) -> Server:
    """Return a server that listens. port: None: the usual one, or any where it is taken; 0: any.

    Another address than this computer's own gets TLS, unless proxies are named: then nobody else is served there.
    proxies: whose word counts besides that of one on this computer. Raises RequestRefused.
    """
    certificate = None
    behind_proxy = behind_proxy or bool(proxies)
    own = ipaddress.ip_address(address)
    hosts = ["127.0.0.1", "localhost", "::1", *(name.lower() for name in names)]
    if own.is_loopback:
        hosts.append(str(own))  # 127.0.0.2, for one
    else:
        shown = _own_address(address) if own.is_unspecified else address
        hosts += [shown, socket.gethostname().lower(), f"{socket.gethostname().lower()}.local"]
        if not proxies:
            from oulipoly_engine.web.access.authority import make_certificate  # noqa: PLC0415 - 60 ms, not for loopback

            certificate = make_certificate(engine.surroundings.paths.data / "web", hosts, engine.surroundings.clock)
    bound, is_fallback = _bind(address, port)
    known = tuple(dict.fromkeys(hosts))
    serving = Serving(known, bound.getsockname()[1], certificate is not None, behind_proxy, proxies)
    limits = find_limits()
    bound.connections = Connections(
        limits, proxies=proxies if behind_proxy else None, only_proxies=not own.is_loopback and bool(proxies)
    )
    try:
        own_socket = OwnSocket(engine.surroundings.paths.server_runtime, serving.port)
    except RunnerError:
        bound.close()
        raise
    own_socket.connections = Connections(Limits(limits.each, limits.each), proxies=None, only_proxies=False)
    server = Server(engine, bound, own_socket, serving, certificate, address)
    if behind_proxy and names:  # by which others reach it
        server.public_url = f"https://{names[0]}"
    server.is_fallback, server.reloads = is_fallback, reloads
    return server


def _bind(address: str, port: int | None) -> tuple[BoundedListener, bool]:
    wanted = DEFAULT_PORT if port is None else port
    try:
        return listen(address, wanted), False
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return listen(address, 0), True
        raise RequestRefused(f"cannot listen on {address} port {wanted}: {error.strerror or error}") from error


def _own_address(any_address: str) -> str:
    """Return the address by which others on the network reach this computer; nothing is sent to learn it."""
    is_six = ":" in any_address
    family, far = (socket.AF_INET6, "2001:db8::1") if is_six else (socket.AF_INET, "192.0.2.1")
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far, 9))
        return str(probe.getsockname()[0])
    return "::1" if is_six else "127.0.0.1"


def _watch(ended: threading.Event, changed: list[bool], server: uvicorn.Server) -> None:
    from watchfiles import watch  # noqa: PLC0415 - for developers

    root = Path(__file__).resolve().parents[1]
    for _ in watch(root, stop_event=ended):
        changed.append(True)
        server.should_exit = True
        return
