-- What an invocation has handed back to its caller, in the order of the receipts. The bytes lie in the artifact store;
-- `sha256` and `content_len` describe them. Column names are the contract's.
CREATE TABLE invocation_returned_artifacts (
    invocation_id INTEGER NOT NULL REFERENCES invocations (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    version_id TEXT NOT NULL,
    name TEXT NOT NULL,
    workflow_run_id TEXT NOT NULL,
    artifact_name TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    content_len INTEGER NOT NULL CHECK (content_len >= 0),
    format_hint TEXT,
    verdict_line TEXT,
    source_kind TEXT NOT NULL,
    source_json TEXT NOT NULL,
    returned_at TEXT NOT NULL,
    PRIMARY KEY (invocation_id, ordinal),
    UNIQUE (invocation_id, version_id)
) WITHOUT ROWID;
