"""The server as a detached process, started by `facade.web.server_process`."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.web.server_process import ServerOrder, run_detached
from oulipoly_engine.paths import from_environment


def serve(order: ServerOrder, tell: Callable[[dict[str, str]], None]) -> None:
    """Serve until TERM; tell the address, or what is wrong."""
    from oulipoly_engine.web.serve import start  # noqa: PLC0415 - after the fork: its libraries may have threads

    engine = Engine()
    try:
        server = start(engine, address=order.address, port=order.port)
    except RunnerError as error:
        engine.close()
        tell({"error": error.message})
        return
    with server:
        tell({"url": server.url})
        server.run()


if __name__ == "__main__":
    run_detached(serve, from_environment().data / "web" / "server.log")
