-- Live sessions: a CLI that is driven by its own protocol (contract of live runtimes, section D).
-- One row a session: which runtime has it, under which id of its own, and what is allowed in it.
CREATE TABLE live_sessions (
    session_id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    runtime_id TEXT NOT NULL,
    runtime_kind TEXT NOT NULL,
    account TEXT,
    model_name TEXT NOT NULL,
    native_id TEXT,
    opening TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL CHECK (status IN ('active', 'fenced', 'closed')),
    status_reason TEXT NOT NULL DEFAULT '',
    forked_from TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_live_sessions_native ON live_sessions (native_id);
CREATE INDEX idx_live_sessions_updated ON live_sessions (updated_at);

-- One row a turn, written before the CLI hears of it.
CREATE TABLE live_turns (
    turn_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES live_sessions (session_id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    native_turn_id TEXT,
    status TEXT NOT NULL CHECK (status IN ('starting', 'running', 'completed', 'failed', 'interrupted', 'blocked')),
    input TEXT NOT NULL,
    policy TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '',
    code TEXT NOT NULL DEFAULT '',
    reply TEXT NOT NULL DEFAULT '',
    usage TEXT,
    invocation_uuid TEXT,
    created_at TEXT NOT NULL,
    ended_at TEXT
);
CREATE INDEX idx_live_turns_session ON live_turns (session_id, created_at);
CREATE INDEX idx_live_turns_open ON live_turns (status) WHERE status IN ('starting', 'running');

-- What happened, in order: items, turns, requests. Deltas are not kept.
CREATE TABLE live_events (
    session_id TEXT NOT NULL REFERENCES live_sessions (session_id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    at TEXT NOT NULL,
    type TEXT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- What a person was asked, and who answered. The answers to secret questions are not here.
CREATE TABLE live_requests (
    request_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES live_sessions (session_id) ON DELETE CASCADE,
    turn_id TEXT NOT NULL,
    native_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'resolved', 'cancelled', 'expired')),
    prompt TEXT NOT NULL,
    decision TEXT NOT NULL DEFAULT '',
    answered_by TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    resolved_at TEXT
);
CREATE INDEX idx_live_requests_open ON live_requests (session_id) WHERE status = 'pending';

-- Messages that wait for the running turn to end.
CREATE TABLE live_queue (
    message_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES live_sessions (session_id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'claimed', 'delivered', 'revoked')),
    note TEXT NOT NULL DEFAULT '',
    turn_id TEXT,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_live_queue_waiting ON live_queue (session_id, place) WHERE state = 'queued';

-- How a runtime stood when it was last asked.
CREATE TABLE runtime_probes (
    runtime_id TEXT PRIMARY KEY,
    probed_at TEXT NOT NULL,
    summary TEXT NOT NULL
);
