-- Which snapshot, a reference of git's, has the files of a session's checkout as they were before or after a turn.
CREATE TABLE turn_files (
    turn_id TEXT NOT NULL REFERENCES live_turns (turn_id) ON DELETE CASCADE,
    moment TEXT NOT NULL CHECK (moment IN ('before', 'after')),
    reference TEXT NOT NULL,
    PRIMARY KEY (turn_id, moment)
);
