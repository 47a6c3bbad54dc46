-- What has happened, for who has asked to be told: written with what happened, and only while there is a reader.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    at INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX idx_events_session ON events (session_id);

-- Up to which event each reader has read.
CREATE TABLE event_readers (
    name TEXT PRIMARY KEY,
    event_id INTEGER NOT NULL
);
