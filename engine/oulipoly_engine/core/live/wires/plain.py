"""Any program that reads and writes lines."""

from __future__ import annotations

from oulipoly_engine.core.live.wires.wire import Wire

PLAIN = Wire(kind="plain", note="Any program that reads and writes lines.", driver="plain:PlainDriver")
