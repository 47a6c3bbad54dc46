-- What was said lies once, as entries of a tree: what each one is, the CLI's own id of it, and the turn of ours, or the
-- run, that it belongs to. A host of an earlier release that outlives the upgrade writes none of that.
ALTER TABLE session_turns ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
ALTER TABLE session_turns ADD COLUMN native_id TEXT;
ALTER TABLE session_turns ADD COLUMN live_turn_id TEXT;
UPDATE session_turns SET kind = 'compaction' WHERE is_compaction_boundary = 1;
CREATE INDEX idx_session_turns_live_turn ON session_turns (live_turn_id) WHERE live_turn_id IS NOT NULL;

-- The entry that a session goes on behind; without one it is the last of the main line.
ALTER TABLE session_chains ADD COLUMN leaf TEXT;

-- The number of the last event that entries were made of: what a transcript has taken over is not made again.
ALTER TABLE live_sessions ADD COLUMN entered INTEGER NOT NULL DEFAULT 0;
