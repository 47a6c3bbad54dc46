"""Claude Code's stream-JSON protocol with its control requests: lines of JSON in both directions, one session each."""

from __future__ import annotations

from oulipoly_engine.drivers.claude.driver import ClaudeDriver

__all__ = ["ClaudeDriver"]
