"""The drivers by the kind of their runtime; each is imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from oulipoly_engine.core.live.runtimes import DriverKind
from oulipoly_engine.drivers.base import Driver

_MODULES: Mapping[DriverKind, str] = {
    "codex": "codex:CodexDriver",
    "claude": "claude:ClaudeDriver",
    "acp": "acp:AcpDriver",
    "plain": "plain:PlainDriver",
    "codex-proto": "codex_proto:CodexProtoDriver",
}


def driver_of(kind: DriverKind) -> type[Driver]:
    """Return the driver of a kind of runtime."""
    module, _, name = _MODULES[kind].partition(":")
    driver: type[Driver] = getattr(import_module(f"oulipoly_engine.drivers.{module}"), name)
    return driver
