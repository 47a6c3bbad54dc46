"""Another name of `claude.dialogue`, until `service.reading` asks for that."""

from __future__ import annotations

from oulipoly_engine.core.transcripts.claude import dialogue as read

__all__ = ["read"]
