"""The Agent Client Protocol, version 1: JSON-RPC in lines, for any agent that speaks it."""

from __future__ import annotations

from oulipoly_engine.drivers.acp.driver import AcpDriver

__all__ = ["AcpDriver"]
