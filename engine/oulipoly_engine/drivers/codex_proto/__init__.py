"""`codex proto`, which codex had until about 0.40: submissions and events as JSON in lines."""

from __future__ import annotations

from oulipoly_engine.drivers.codex_proto.driver import CodexProtoDriver

__all__ = ["CodexProtoDriver"]
