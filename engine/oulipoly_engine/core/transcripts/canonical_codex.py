"""Another name of `codex.canonical_records`, until `service.reading` asks for that."""

from __future__ import annotations

from oulipoly_engine.core.transcripts.codex import canonical_records as read

__all__ = ["read"]
