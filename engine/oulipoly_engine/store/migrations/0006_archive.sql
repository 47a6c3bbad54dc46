-- Kept copies of transcripts and of the files beside them. A copy is a list of chunks; the chunks lie compressed in
-- files named by their hash, below the archive's folder.
CREATE TABLE archive_copies (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    session_id TEXT NOT NULL,
    path BLOB NOT NULL, -- where the CLI had it; bytes, since a path need not be text
    part TEXT NOT NULL, -- empty: the transcript; else its place in the session's own folder
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    kept_at TEXT NOT NULL,
    is_latest INTEGER NOT NULL, -- 0: what was there before the file was rewritten
    is_pruned INTEGER NOT NULL DEFAULT 0 -- 1: given up for the size limit, the row alone is left
);
CREATE UNIQUE INDEX idx_archive_latest ON archive_copies (account, path) WHERE is_latest = 1;
CREATE INDEX idx_archive_superseded ON archive_copies (account, path) WHERE is_latest = 0;
CREATE INDEX idx_archive_session ON archive_copies (session_id, account);

CREATE TABLE archive_chunks (
    copy_id INTEGER NOT NULL REFERENCES archive_copies (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (copy_id, position)
) WITHOUT ROWID;
CREATE INDEX idx_archive_chunk_hash ON archive_chunks (sha256);

CREATE TABLE archive_objects (
    sha256 BLOB PRIMARY KEY,
    stored_bytes INTEGER NOT NULL
) WITHOUT ROWID;

-- Accounts of which everything was kept when the last ingested turn had this row id: a scan without newer ones need not
-- look again.
CREATE TABLE archive_complete (
    account TEXT PRIMARY KEY,
    turn_row_id INTEGER NOT NULL
) WITHOUT ROWID;
