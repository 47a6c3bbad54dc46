-- The ledger: a row an API call, whichever lines of whichever transcripts told of it. Rows are never removed.
-- Numbers of calls and places are digests (core/ledger.py): whoever reads the same lines writes the same rows.
CREATE TABLE ledger_places (
    id INTEGER PRIMARY KEY, -- its last bits: how little it is fit to name a call that several are told for
    account TEXT NOT NULL,
    cli TEXT NOT NULL,
    session TEXT NOT NULL,
    project TEXT NOT NULL,
    model TEXT NOT NULL,
    is_sidechain INTEGER NOT NULL
);

CREATE TABLE ledger_calls (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    place INTEGER NOT NULL,
    input INTEGER NOT NULL, -- what no cache served
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL, -- part of cache_write
    reasoning INTEGER NOT NULL -- part of output
);
-- Its index on at_ms is made at the end of the first pass: kept up from the start it would cost a third more.

-- How far each transcript has been read. Paths are bytes, since a file's name may be no text.
CREATE TABLE ledger_files (
    path BLOB PRIMARY KEY,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    offset INTEGER NOT NULL, -- of the first byte behind the whole lines that were read
    head BLOB NOT NULL, -- digest of the first bytes
    tail BLOB NOT NULL, -- digest of the bytes before the offset
    state TEXT, -- what the parser has to know there
    generation INTEGER NOT NULL -- how often the file was found rewritten
) WITHOUT ROWID;

-- Lines that may tell of a call and could not be read.
CREATE TABLE ledger_errors (
    path BLOB NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (path, offset)
) WITHOUT ROWID;

-- The first ancestor of each forked Codex session: its parent's rollout may be gone when the fork goes on.
CREATE TABLE ledger_roots (
    session TEXT PRIMARY KEY,
    root TEXT NOT NULL
) WITHOUT ROWID;

-- What models cost, in USD per million tokens, as a price list says; a model of which it says nothing has one row of
-- NULLs, so that the list, which is slow to load, is asked once.
CREATE TABLE model_prices (
    model TEXT NOT NULL,
    from_ms INTEGER NOT NULL, -- since when
    above_input INTEGER NOT NULL, -- for calls with more input than so many tokens, cached ones included
    input REAL,
    output REAL,
    cache_read REAL,
    cache_write REAL,
    cache_write_1h REAL,
    list TEXT NOT NULL, -- the list and its version
    PRIMARY KEY (model, from_ms, above_input)
) WITHOUT ROWID;
