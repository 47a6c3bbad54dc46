-- What sessions had said before they were copied to an account, by a move or out of a bundle: entries of `session_id`
-- later than `since` and up to `copied_at` are stored under `account` as well, but were no work of it. A session that
-- comes back has a row each time, from when it had left the account.
CREATE TABLE copied_history (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    session_id TEXT NOT NULL,
    from_account TEXT,
    since TEXT,
    copied_at TEXT NOT NULL
);
CREATE INDEX idx_copied_history_account ON copied_history (account, copied_at);
CREATE INDEX idx_copied_history_session ON copied_history (session_id, account);

-- Moves of before.
INSERT INTO copied_history (account, session_id, from_account, copied_at)
SELECT
    s.provider_name,
    s.session_id,
    (
        SELECT p.provider_name FROM session_chain_segments AS p
        WHERE p.chain_id = s.chain_id AND p.id <> s.id AND p.ended_at <= s.started_at
        ORDER BY p.ended_at DESC LIMIT 1
    ),
    s.started_at
FROM session_chain_segments AS s
WHERE s.transition_reason IN ('manual', 'quota_threshold', 'exhausted');
