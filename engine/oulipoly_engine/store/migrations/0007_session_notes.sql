-- What a person says of a conversation.
CREATE TABLE conversation_notes (
    chain_id TEXT PRIMARY KEY REFERENCES session_chains (chain_id) ON DELETE CASCADE,
    name TEXT,
    note TEXT,
    pinned_at TEXT,
    changed_at TEXT NOT NULL
) WITHOUT ROWID;

-- What is known of an account's session: counted from its turns, then described from the head of its transcript.
-- `described_turns` is the number of turns that there were when it was described; another number: describe it again.
CREATE TABLE session_facts (
    account TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turns INTEGER NOT NULL,
    assistant_turns INTEGER NOT NULL,
    sidechain_turns INTEGER NOT NULL,
    side_chains INTEGER NOT NULL,
    first_turn_at TEXT NOT NULL,
    last_turn_at TEXT NOT NULL,
    is_stale INTEGER NOT NULL DEFAULT 0,
    described_turns INTEGER,
    title TEXT,
    cwd TEXT,
    cli_model TEXT,
    transcript TEXT,
    size_bytes INTEGER,
    mtime_ms INTEGER,
    PRIMARY KEY (account, session_id)
) WITHOUT ROWID;
CREATE INDEX idx_session_facts_session ON session_facts (session_id);
CREATE INDEX idx_session_facts_stale ON session_facts (session_id) WHERE is_stale = 1;
CREATE INDEX idx_session_facts_undescribed ON session_facts (last_turn_at) WHERE described_turns IS NOT turns;

CREATE TABLE session_facts_state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    counted_to INTEGER NOT NULL DEFAULT 0
);
INSERT INTO session_facts_state (only_row) VALUES (1);

CREATE TRIGGER session_facts_delete AFTER DELETE ON session_turns
WHEN old.id <= (SELECT counted_to FROM session_facts_state)
BEGIN
    UPDATE session_facts SET is_stale = 1 WHERE account = old.provider_name AND session_id = old.session_id;
    UPDATE session_facts_state SET counted_to = MIN(counted_to, (SELECT COALESCE(MAX(id), 0) FROM session_turns));
END;

CREATE TRIGGER session_facts_update AFTER UPDATE OF body, timestamp, role, is_sidechain ON session_turns
WHEN old.id <= (SELECT counted_to FROM session_facts_state)
BEGIN
    UPDATE session_facts SET is_stale = 1 WHERE account = new.provider_name AND session_id = new.session_id;
END;
