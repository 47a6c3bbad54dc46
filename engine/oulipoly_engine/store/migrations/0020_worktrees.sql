-- Worktrees of sessions (contract of worktree sessions, B3). One row a session, written before git makes anything.
CREATE TABLE worktrees (
    session_id TEXT PRIMARY KEY,
    repository TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    base_commit TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('creating', 'ready', 'failed', 'removing', 'removed')),
    is_new_branch INTEGER NOT NULL DEFAULT 1,
    reason TEXT NOT NULL DEFAULT '',
    port_first INTEGER,
    port_count INTEGER NOT NULL DEFAULT 0,
    salvage TEXT NOT NULL DEFAULT '',
    settings TEXT NOT NULL DEFAULT '{}',
    git_folder TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX idx_worktrees_repository ON worktrees (repository);

-- What is being done to a repository, so that what a kill has cut is finished or undone at the next start.
CREATE TABLE worktree_operations (
    operation_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'undone', 'conflict', 'failed')),
    detail TEXT NOT NULL,
    begun_at TEXT NOT NULL,
    ended_at TEXT
);
CREATE INDEX idx_worktree_operations_begun ON worktree_operations (begun_at) WHERE state = 'begun';

-- The commands that a repository's file of settings names, once a person has allowed them in just these words.
CREATE TABLE worktree_permissions (
    repository TEXT NOT NULL,
    digest TEXT NOT NULL,
    allowed_at TEXT NOT NULL,
    PRIMARY KEY (repository, digest)
);

-- How long a session is to live, and how the last process of a one-shot one ended.
ALTER TABLE live_sessions ADD COLUMN lifecycle TEXT NOT NULL DEFAULT 'persistent';
ALTER TABLE live_sessions ADD COLUMN ended TEXT NOT NULL DEFAULT '';
ALTER TABLE live_sessions ADD COLUMN exit_code INTEGER;
ALTER TABLE live_sessions ADD COLUMN closed_at TEXT;
