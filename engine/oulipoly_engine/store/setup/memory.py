"""The graph that the set-up agent remembers."""

from __future__ import annotations

import json
from collections.abc import Iterable

from oulipoly_engine.core.setup.memory import Graph, MemoryEdge, MemoryNode
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.setup import SetupEdgeRow, SetupNodeRow


def read(store: Store) -> Graph:
    """Return all of it, what changed last first."""
    node, edge = SetupNodeRow, SetupEdgeRow
    nodes = node.select(node.node_type, node.label, node.properties, node.updated_at)
    edges = edge.select(edge.from_node, edge.to_node, edge.edge_type)
    with store.read():
        return Graph(
            tuple(
                MemoryNode(kind, label, json.loads(properties), at)
                for kind, label, properties, at in store.rows(nodes.order_by(node.updated_at.desc(), node.node_id))
            ),
            tuple(MemoryEdge(*row) for row in store.rows(edges.order_by(edge.from_node, edge.to_node, edge.edge_type))),
        )


def put(store: Store, node: MemoryNode, edges: Iterable[MemoryEdge]) -> None:
    """Store a node in place of the one that has its name, and edges."""
    row = SetupNodeRow
    told = {
        row.node_type: node.node_type,
        row.label: node.label,
        row.properties: json.dumps(dict(node.data), ensure_ascii=False),
        row.updated_at: node.updated_at,
    }
    with store.write():
        store.run(
            row.insert({row.node_id: node.id, **told}).on_conflict(conflict_target=[row.node_id], preserve=list(told))
        )
        for edge in edges:
            store.run(
                SetupEdgeRow.insert(
                    from_node=edge.source, to_node=edge.target, edge_type=edge.edge_type
                ).on_conflict_ignore()
            )


def forget(store: Store, nodes: Iterable[str]) -> None:
    """Delete nodes by their ids; their edges go with them."""
    with store.write():
        for one in nodes:
            store.run(SetupNodeRow.delete().where(SetupNodeRow.node_id == one))


def clear(store: Store) -> int:
    """Delete all of it; return how many nodes that were."""
    with store.write():
        store.run(SetupEdgeRow.delete())
        return store.run(SetupNodeRow.delete())
