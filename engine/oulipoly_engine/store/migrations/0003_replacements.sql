-- Every replacement of a transcript, with the kept preimage's hash: what `session undo` goes back to.
-- Without committed_at it is under way, or was cut off; the next start decides.
CREATE TABLE replacements (
    id INTEGER PRIMARY KEY,
    operation_uuid TEXT NOT NULL UNIQUE,
    operation TEXT NOT NULL CHECK (operation IN ('import-replace', 'undo')),
    session_id TEXT NOT NULL,
    provider_name TEXT NOT NULL,
    chain_id TEXT NOT NULL,
    jsonl_path TEXT NOT NULL,
    started_at TEXT NOT NULL,
    committed_at TEXT,
    preimage_sha256 TEXT NOT NULL,
    postimage_sha256 TEXT NOT NULL,
    preimage_file_sha256 TEXT NOT NULL,
    postimage_file_sha256 TEXT NOT NULL,
    preimage_size_bytes INTEGER NOT NULL,
    undoes TEXT,
    undone_at TEXT
);
CREATE INDEX idx_replacements_session ON replacements (session_id, provider_name, id);
CREATE INDEX idx_replacements_preimage ON replacements (preimage_file_sha256);
