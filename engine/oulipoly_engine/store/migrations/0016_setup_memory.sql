-- What the set-up agent was told or found out, as a graph (contract, section 13).
CREATE TABLE setup_nodes (
    node_id TEXT PRIMARY KEY,
    node_type TEXT NOT NULL,
    label TEXT NOT NULL,
    properties TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE TABLE setup_edges (
    from_node TEXT NOT NULL REFERENCES setup_nodes (node_id) ON DELETE CASCADE,
    to_node TEXT NOT NULL REFERENCES setup_nodes (node_id) ON DELETE CASCADE,
    edge_type TEXT NOT NULL,
    PRIMARY KEY (from_node, to_node, edge_type)
);
