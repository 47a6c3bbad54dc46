-- What a person calls an entry of a session.
CREATE TABLE entry_labels (
    chain_id TEXT NOT NULL REFERENCES session_chains (chain_id) ON DELETE CASCADE,
    entry_id TEXT NOT NULL,
    label TEXT NOT NULL,
    labelled_at TEXT NOT NULL,
    PRIMARY KEY (chain_id, entry_id)
);

-- When a person has deleted a session: no list has it, and its transcript is in the archive alone.
ALTER TABLE session_chains ADD COLUMN deleted_at TEXT;
CREATE INDEX idx_session_chains_deleted ON session_chains (deleted_at) WHERE deleted_at IS NOT NULL;

-- Of a part that its CLI keeps as a session of its own since a person went back: the entry that it goes on behind.
ALTER TABLE session_chain_segments ADD COLUMN begins_behind TEXT;
