"""The facade's diagnostics under the name that the session commands still use."""

from __future__ import annotations

from oulipoly_engine.facade.diagnostics import fail, fail_json, is_terminal, note, write_bytes

__all__ = ["fail", "fail_json", "is_terminal", "note", "write_bytes"]
