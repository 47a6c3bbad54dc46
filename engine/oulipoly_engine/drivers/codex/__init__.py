"""Codex's app-server protocol: JSON-RPC in lines, of which one process serves one session here."""

from __future__ import annotations

from oulipoly_engine.drivers.codex.driver import CodexDriver

__all__ = ["CodexDriver"]
