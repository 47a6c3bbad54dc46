"""The routes of the pages; `make_app` puts them before those of REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from oulipoly_engine.facade.engine import Engine


def page_routes(engine: Engine) -> list[BaseRoute]:
    """Return the routes that answer a browser; each matches nothing else."""
    del engine
    return []
