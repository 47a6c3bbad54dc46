"""What the set-up agent remembers, and how its set-ups went."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import AutoField, CompositeKey, Default, DoubleField, IntegerField, TextField
from oulipoly_engine.store.models.base import Row, references


class SetupNodeRow(Row, table_name="setup_nodes"):
    """One thing that it knows of."""

    node_id = TextField(primary_key=True)
    node_type = TextField()
    label = TextField()
    properties = TextField()  # a JSON object
    updated_at = TextField()


class SetupEdgeRow(Row, table_name="setup_edges", primary_key=CompositeKey("from_node", "to_node", "edge_type")):
    """How two of them belong together."""

    from_node = TextField(constraints=[references("setup_nodes", "node_id")])
    to_node = TextField(constraints=[references("setup_nodes", "node_id")])
    edge_type = TextField()


class SetupRunRow(Row, table_name="setup_runs"):
    """One set-up."""

    id = AutoField()
    began_at = TextField()
    ended_at = TextField(null=True)
    wish = TextField()
    model_name = TextField()
    outcome = TextField(null=True)
    turns = IntegerField(constraints=[Default(0)])
    summary = TextField(constraints=[Default("''")])


class ExtensionRow(Row, table_name="extensions"):
    """How an extension does, of its files as they are."""

    name = TextField(primary_key=True)
    digest = TextField()
    failures = IntegerField(constraints=[Default(0)])
    last_failure = TextField(constraints=[Default("''")])
    is_broken = IntegerField(constraints=[Default(0)])
    load_ms = DoubleField(null=True)
