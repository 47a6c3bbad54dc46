-- Which session holds the beginning of one that its CLI forked by reference, and up to which of its ordinals.
ALTER TABLE session_facts ADD COLUMN history_session TEXT;
ALTER TABLE session_facts ADD COLUMN history_end INTEGER;

CREATE INDEX idx_session_facts_forks ON session_facts (forked_from) WHERE forked_from <> '';

-- Those of codex that may be such are described again.
UPDATE session_facts SET described_turns = NULL WHERE forked_from <> '' AND transcript LIKE '%/rollout-%.jsonl';
