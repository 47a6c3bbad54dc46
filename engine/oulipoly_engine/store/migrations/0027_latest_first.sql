-- A list begins with the sessions that were used last: without these, all of them are sorted to find the first fifty.
CREATE INDEX idx_session_chains_last_used ON session_chains (last_used_at);
CREATE INDEX idx_session_facts_last_turn ON session_facts (last_turn_at);

-- Which live sessions are recorded nowhere is asked with each list: of this index, and not of all their rows.
DROP INDEX idx_live_sessions_native;
CREATE INDEX idx_live_sessions_native ON live_sessions (native_id, account, session_id);
