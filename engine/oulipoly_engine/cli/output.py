"""The facade's output under the name that the session commands still use."""

from __future__ import annotations

from oulipoly_engine.facade.output import STDOUT, abandon, widen, write_bytes, write_json, write_line

__all__ = ["STDOUT", "abandon", "widen", "write_bytes", "write_json", "write_line"]
