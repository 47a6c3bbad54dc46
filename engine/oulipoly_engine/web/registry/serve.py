"""Run the registry on a socket until INT or TERM."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.images.registry import ServedRegistry
from oulipoly_engine.web import server_base
from oulipoly_engine.web.connections import BoundedListener, Connections, Limits, find_limits
from oulipoly_engine.web.patient_protocol import PatientProtocol
from oulipoly_engine.web.registry.app import RegistryApp

if TYPE_CHECKING:
    from starlette.types import ASGIApp

DEFAULT_PORT = 5527


class _Protocol(PatientProtocol):
    """A body may take any time, as long as something of it comes."""

    upload_patience_s = 60.0
    is_renewed = True


def listen(address: str, port: int) -> BoundedListener:
    """Return a socket that listens. port: 0: any. Raises RequestRefused."""
    try:
        listener = server_base.listen(address, port)
    except OSError as error:
        way = "give another --port, or 0 for any"
        raise RequestRefused(f"cannot listen on {address} port {port}: {error.strerror or error}: {way}") from error
    limits = find_limits()
    # One client pushes many layers at once.
    listener.connections = Connections(Limits(limits.most, limits.most), proxies=None, only_proxies=False)
    return listener


def make_server(app: ASGIApp) -> uvicorn.Server:
    """Return what serves an app on sockets; it ends at a signal, or once `should_exit` is set."""
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        loop="asyncio",  # another one would accept without our socket
        http=_Protocol,
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=server_base.PATIENCE_S,
    )
    return server_base.SignalServer(config)


def serve(registry: ServedRegistry, listener: BoundedListener, tell: Callable[[], None]) -> None:
    """Serve until a signal. tell: called once it answers."""
    server = make_server(RegistryApp(registry, (socket.gethostname().lower(),)))
    with server.capture_signals():
        tell()
        server.run(sockets=[listener])
