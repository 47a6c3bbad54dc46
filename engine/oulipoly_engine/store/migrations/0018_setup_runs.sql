-- How set-ups by a model went (contract, section 13). No outcome: it goes on, or was killed.
CREATE TABLE setup_runs (
    id INTEGER PRIMARY KEY,
    began_at TEXT NOT NULL,
    ended_at TEXT,
    wish TEXT NOT NULL,
    model_name TEXT NOT NULL,
    outcome TEXT,
    turns INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT ''
);
