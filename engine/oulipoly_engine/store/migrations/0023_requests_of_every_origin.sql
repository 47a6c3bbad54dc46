-- Requests of every origin: a set-up, a repository or a device asks as a live session does, and belongs to no session.
-- The table keeps its name, and `origin` says `live` by itself: a host of an older release that outlives the upgrade
-- writes to it still.
CREATE TABLE requests_of_every_origin (
    request_id TEXT PRIMARY KEY,
    session_id TEXT REFERENCES live_sessions (session_id) ON DELETE CASCADE,
    turn_id TEXT NOT NULL,
    native_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'resolved', 'cancelled', 'expired')),
    prompt TEXT NOT NULL,
    decision TEXT NOT NULL DEFAULT '',
    answered_by TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    resolved_at TEXT,
    origin TEXT NOT NULL DEFAULT 'live',
    asker TEXT NOT NULL DEFAULT '',
    answers TEXT
);
INSERT INTO requests_of_every_origin (
    request_id, session_id, turn_id, native_id, kind, status, prompt, decision, answered_by, created_at, resolved_at
)
SELECT
    request_id, session_id, turn_id, native_id, kind, status, prompt, decision, answered_by, created_at, resolved_at
FROM live_requests;
DROP TABLE live_requests;
ALTER TABLE requests_of_every_origin RENAME TO live_requests;
CREATE INDEX idx_live_requests_open ON live_requests (session_id) WHERE status = 'pending';
