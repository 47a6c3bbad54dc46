"""Another name of `codex.dialogue`, until `service.reading` asks for that."""

from __future__ import annotations

from oulipoly_engine.core.transcripts.codex import dialogue as read

__all__ = ["read"]
