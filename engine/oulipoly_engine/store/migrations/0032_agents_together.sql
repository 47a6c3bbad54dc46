-- What agents keep and may do together: their notes, their tokens, and who waits for whose answer.
ALTER TABLE agent_sessions ADD COLUMN prompted_by TEXT NOT NULL DEFAULT '';

CREATE TABLE agent_notes (
    agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    is_pinned INTEGER NOT NULL DEFAULT 0,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent_id, key)
);

-- The text of a token stands nowhere: it is made of its row and of a secret that lies beside the state file.
CREATE TABLE agent_tokens (
    token_id TEXT NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
    issuer TEXT NOT NULL CHECK (issuer IN ('agent', 'operator')),
    capabilities TEXT NOT NULL DEFAULT '[]',
    links TEXT NOT NULL DEFAULT '[]',
    issued_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    revoked_at TEXT
);
CREATE INDEX idx_agent_tokens_agent ON agent_tokens (agent_id);
