"""The wires that are known; a further one is a driver, a module beside these, and a line here."""

from __future__ import annotations

from oulipoly_engine.core.live.wires.acp import ACP
from oulipoly_engine.core.live.wires.claude import CLAUDE
from oulipoly_engine.core.live.wires.codex import CODEX, CODEX_PROTO
from oulipoly_engine.core.live.wires.plain import PLAIN
from oulipoly_engine.core.live.wires.wire import Wire

WIRES: dict[str, Wire] = {wire.kind: wire for wire in (CODEX, CLAUDE, ACP, PLAIN, CODEX_PROTO)}
FORMER_NAMES = {wire.kind: wire.former_name for wire in WIRES.values() if wire.former_name}
USUAL = CODEX.kind  # where neither the file nor an account nor a program says another
