-- Of which session one is a fork, by the CLI's own id: '' of none, NULL where nobody has looked yet.
ALTER TABLE session_facts ADD COLUMN forked_from TEXT;

-- A CLI that copies what was said before copies its times too.
CREATE INDEX idx_session_facts_first_turn ON session_facts (first_turn_at);

-- Those that may be forks are described again.
UPDATE session_facts SET described_turns = NULL
WHERE
    transcript LIKE '%/rollout-%.jsonl'
    OR first_turn_at IN (
        SELECT f.first_turn_at FROM session_facts AS f GROUP BY f.first_turn_at HAVING COUNT(DISTINCT f.session_id) > 1
    );
