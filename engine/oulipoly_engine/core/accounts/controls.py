"""What a user has said of an account: keep a reserve, take no new work, take none at all. Pure."""

from __future__ import annotations

from oulipoly_engine.records import Record


class Controls(Record):
    """The wishes for one account; the default is none."""

    reserve: float = 0.0  # 0..1 of every window that must stay unspent
    drained: bool = False  # no new work; what runs may end
    disabled: bool = False  # left out, and not read either

    @property
    def words(self) -> str:
        """Return the wishes in a few words; empty if there are none."""
        parts = [f"reserve {100 * self.reserve:g} %"] if self.reserve else []
        if self.drained:
            parts.append("drained")
        if self.disabled:
            parts.append("disabled")
        return ", ".join(parts)
