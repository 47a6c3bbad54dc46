"""What the set-up agent remembers from one set-up to the next; its user sees it and clears it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.setup import memory
from oulipoly_engine.core.setup.memory import Graph, MemoryNode
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.setup import memory as kept


class Memory:
    """The memory in one state file."""

    def __init__(self, store: Store, now: datetime) -> None:
        self._store, self._now = store, now

    def update(
        self, node_type: str, label: str, data: Mapping[str, object], edges: Sequence[tuple[str, str]] = ()
    ) -> str:
        """Merge data into the node of that type and label, and join it to others; return what came of it.

        edges: (the target's label or id, the edge's type). Raises RequestRefused for what is not a node, or too long.
        """
        with self._store.write():
            found = memory.update(kept.read(self._store), MemoryNode(node_type, label, data, to_text(self._now)), edges)
            kept.forget(self._store, found.forgotten)
            kept.put(self._store, found.node, found.edges)
        unknown = f"; no edge to {', '.join(found.unknown)}, which is not there" if found.unknown else ""
        return f"kept {found.node.id}{unknown}"

    def graph(self) -> Graph:
        """Return all of it."""
        return kept.read(self._store)

    def nodes(self) -> tuple[MemoryNode, ...]:
        """Return its nodes, what changed last first."""
        return self.graph().nodes

    def context(self) -> str:
        """Return it as text for a prompt; empty where there is nothing."""
        return memory.context(self.graph())

    def clear(self) -> int:
        """Forget all of it; return how many nodes that were."""
        return kept.clear(self._store)
