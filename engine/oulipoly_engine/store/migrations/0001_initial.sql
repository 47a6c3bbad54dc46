-- The first shape. Column names of invocations and session_* tables are part of `session schema-probe`.
CREATE TABLE invocations (
    id INTEGER PRIMARY KEY,
    invocation_uuid TEXT NOT NULL UNIQUE,
    model_name TEXT NOT NULL,
    provider_name TEXT,
    provider_index INTEGER,
    parent_invocation_id INTEGER REFERENCES invocations (id),
    status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'legacy')),
    success INTEGER,
    exit_code INTEGER,
    error_category TEXT,
    terminal_reason TEXT,
    session_id TEXT,
    session_capture_method TEXT NOT NULL DEFAULT 'none',
    resume_input_id TEXT,
    resume_acceptance_status TEXT,
    resume_acceptance_evidence TEXT,
    attempt INTEGER NOT NULL DEFAULT 1,
    working_directory TEXT,
    owner_pid INTEGER,
    created_at TEXT NOT NULL,
    finished_at TEXT
);
CREATE INDEX idx_invocations_provider_session ON invocations (provider_name, session_id);
CREATE INDEX idx_invocations_parent ON invocations (parent_invocation_id, created_at, id);
CREATE INDEX idx_invocations_recent_failures ON invocations (model_name, provider_name, finished_at)
    WHERE status = 'failed';

CREATE TABLE decisions (
    invocation_id INTEGER PRIMARY KEY REFERENCES invocations (id) ON DELETE CASCADE,
    decision TEXT NOT NULL
);

-- Keyed by name, not by place in the pool: counts and errors follow the account (contract 1.8).
CREATE TABLE account_counters (
    model_name TEXT NOT NULL,
    account TEXT NOT NULL,
    invocation_count INTEGER NOT NULL DEFAULT 0,
    error_count INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    last_error_at TEXT,
    last_invoked_at TEXT,
    PRIMARY KEY (model_name, account)
) WITHOUT ROWID;

-- Keyed by account alone: models that share an account share its quota.
CREATE TABLE account_quotas (
    account TEXT PRIMARY KEY,
    refreshed_at TEXT,
    last_empty_refresh_at TEXT,
    exhausted_at TEXT,
    calls_since_refresh INTEGER NOT NULL DEFAULT 0,
    peak_live_windows INTEGER NOT NULL DEFAULT 0,
    last_topology_probe_at TEXT
) WITHOUT ROWID;

CREATE TABLE quota_windows (
    account TEXT NOT NULL,
    position INTEGER NOT NULL,
    used REAL NOT NULL,
    resets_at TEXT NOT NULL,
    last_delta REAL,
    last_delta_turns INTEGER,
    label TEXT,
    PRIMARY KEY (account, position)
) WITHOUT ROWID;

CREATE TABLE session_turns (
    id INTEGER PRIMARY KEY,
    provider_name TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    role TEXT NOT NULL,
    parent_turn_id TEXT,
    is_sidechain INTEGER NOT NULL DEFAULT 0,
    is_compaction_boundary INTEGER NOT NULL DEFAULT 0,
    source_file TEXT,
    ingested_at TEXT NOT NULL,
    body TEXT,
    UNIQUE (provider_name, session_id, turn_id)
);
CREATE INDEX idx_session_turns_session_lookup ON session_turns (session_id, timestamp);
CREATE INDEX idx_session_turns_account_time ON session_turns (provider_name, role, timestamp);

CREATE TABLE session_chains (
    chain_id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    model_name TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE session_chain_segments (
    id INTEGER PRIMARY KEY,
    chain_id TEXT NOT NULL REFERENCES session_chains (chain_id) ON DELETE CASCADE,
    provider_name TEXT NOT NULL,
    session_id TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    last_turn_id TEXT,
    transition_reason TEXT NOT NULL,
    UNIQUE (chain_id, provider_name, session_id)
);
CREATE INDEX idx_segments_session ON session_chain_segments (session_id);
CREATE INDEX idx_segments_chain_active ON session_chain_segments (chain_id, ended_at);
