-- A list begins with the sessions that were used last: without these, all of them are sorted to find the first fifty.
CREATE INDEX idx_session_chains_last_used ON session_chains (last_used_at);
CREATE INDEX idx_session_facts_last_turn ON session_facts (last_turn_at);
