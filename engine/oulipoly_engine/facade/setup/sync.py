"""What is asked and ordered about skills and MCP servers of CLIs, and about the set-up agent's memory.

Every method blocks. Nothing is written before `apply`, and `account undo` takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.core.setup.memory import Graph
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.setup.memory import Memory
from oulipoly_engine.service.setup.sync import Sync, SyncHome, SyncPlan

__all__ = ["SyncHome", "SyncPlan"]


def find_filled(homes: Sequence[SyncHome]) -> tuple[SyncHome, ...]:
    """Return the homes that have something to copy, or something wrong that may hide it."""
    return tuple(home for home in homes if home.skills or home.servers or home.problems)


def tell_empty(homes: Sequence[SyncHome]) -> tuple[str, ...]:
    """Say which homes have nothing; where none has anything, also how to begin. Empty: all have something."""
    empty = [home for home in homes if not (home.skills or home.servers)]
    if not empty:
        return ()
    if len(empty) < len(homes):
        return (f"Nothing in {', '.join(home.name for home in empty)}.",)
    folder = next((home.skills_folder for home in homes if home.skills_folder is not None), None)
    put = "Add" if folder is None else f"Put a skill into {folder}, or add"
    return (
        "No CLI has a skill or an MCP server yet.",
        f"{put} an MCP server with `claude mcp add`; then it can be copied to the others.",
    )


class SetupSync(Part):
    """The homes of one user's CLIs, and what is copied between them."""

    def homes(self) -> tuple[SyncHome, ...]:
        """Return all homes and what is in them, without secrets."""
        return self._sync().homes()

    def home(self, name: str) -> SyncHome:
        """Return one of them by an account's or a CLI's name. Raises UsageInvalid."""
        return self._sync().home(name)

    def plan(self, kind: str, source: str, target: str, name: str) -> SyncPlan:
        """Return the changes that give a target what a source has. kind: "skill" or "mcp". Raises RunnerError."""
        sync = self._sync()
        if kind not in ("skill", "mcp"):
            raise UsageInvalid(f"{kind[:40]!r} cannot be copied: say skill or mcp")
        return (sync.plan_skill_sync if kind == "skill" else sync.plan_mcp_sync)(source, target, name)

    def apply(self, *plans: SyncPlan) -> None:
        """Write plans as one change, which can be undone. Raises ConfigInvalid, and then nothing is changed."""
        self._home.refuse_if_read_only("change what CLIs have")
        self._sync().apply(*plans)

    def memory(self) -> Graph:
        """Return what the set-up agent remembers."""
        with self._home.lend_store_to_read() as store:
            return Memory(store, self._home.now()).graph()

    def clear_memory(self) -> int:
        """Forget all of it; return how many things that were."""
        self._home.refuse_if_read_only("clear the memory")
        with self._home.lend_store() as store:
            return Memory(store, self._home.now()).clear()

    def _sync(self) -> Sync:
        return Sync(self._home.paths, self._home.quiet_files.accounts(), inherited_environment())
