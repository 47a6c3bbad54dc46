"""The drivers, as the bundles of the wires name them; each is imported when it is used."""

from __future__ import annotations

from importlib import import_module

from oulipoly_engine.core.live.wires.table import WIRES
from oulipoly_engine.drivers.base import Driver


def driver_of(kind: str) -> type[Driver]:
    """Return the driver of a wire."""
    module, _, name = WIRES[kind].driver.partition(":")
    driver: type[Driver] = getattr(import_module(f"oulipoly_engine.drivers.{module}"), name)
    return driver
