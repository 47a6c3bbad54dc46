-- Agents that were run, how each came to stand as it does, their sessions, and the tools that were run in them.
CREATE TABLE agents (
    agent_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    source TEXT NOT NULL,
    digest TEXT NOT NULL DEFAULT '',
    isolation TEXT NOT NULL,
    plan TEXT NOT NULL DEFAULT '{}',
    status TEXT NOT NULL CHECK (
        status IN ('pulling', 'starting', 'ready', 'working', 'stopped', 'failed', 'removing', 'removed')
    ),
    reason TEXT NOT NULL DEFAULT '',
    problem TEXT NOT NULL DEFAULT '',
    owner TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX idx_agents_name ON agents (name) WHERE status != 'removed';

CREATE TABLE agent_history (
    id INTEGER NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX idx_agent_history_agent ON agent_history (agent_id);

CREATE TABLE agent_sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
    created_at TEXT NOT NULL
);
CREATE INDEX idx_agent_sessions_agent ON agent_sessions (agent_id);

-- A tool that was run: at once, or as a job in the background.
CREATE TABLE agent_jobs (
    job_id TEXT NOT NULL PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (agent_id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('exec', 'job')),
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL DEFAULT '[]',
    input TEXT NOT NULL DEFAULT '',
    labels TEXT NOT NULL DEFAULT '{}',
    status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'error', 'cancelled', 'orphaned')),
    owner TEXT NOT NULL DEFAULT '',
    handle TEXT NOT NULL DEFAULT '',
    exit_code INTEGER,
    stdout TEXT NOT NULL DEFAULT '',
    stderr TEXT NOT NULL DEFAULT '',
    stdout_bytes INTEGER NOT NULL DEFAULT 0,
    stderr_bytes INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    begun_at TEXT,
    ended_at TEXT
);
CREATE INDEX idx_agent_jobs_agent ON agent_jobs (agent_id, created_at);
CREATE INDEX idx_agent_jobs_open ON agent_jobs (status) WHERE status IN ('pending', 'running');
