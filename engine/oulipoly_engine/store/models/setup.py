"""What the set-up agent remembers."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import CompositeKey, TextField
from oulipoly_engine.store.models.base import Row, references


class SetupNodeRow(Row):
    """One thing that it knows of."""

    node_id = TextField(primary_key=True)
    node_type = TextField()
    label = TextField()
    properties = TextField()  # a JSON object
    updated_at = TextField()

    class Meta:
        table_name = "setup_nodes"


class SetupEdgeRow(Row):
    """How two of them belong together."""

    from_node = TextField(constraints=[references("setup_nodes", "node_id")])
    to_node = TextField(constraints=[references("setup_nodes", "node_id")])
    edge_type = TextField()

    class Meta:
        table_name = "setup_edges"
        primary_key = CompositeKey("from_node", "to_node", "edge_type")
