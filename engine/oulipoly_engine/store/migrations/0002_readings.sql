-- Every reading is kept as a history, a row a window. `window` is the label, or window-N where a script gives none.
-- Instants are milliseconds since 1970 here: a chart reads tens of thousands of them at once.
CREATE TABLE readings (
    account TEXT NOT NULL,
    window TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    used REAL NOT NULL,
    resets_at_ms INTEGER NOT NULL,
    turns INTEGER,
    source TEXT NOT NULL,
    duration_ms INTEGER,
    PRIMARY KEY (account, window, at_ms)
) WITHOUT ROWID;

-- How the last attempt to read an account went, and until when it is left alone.
ALTER TABLE account_quotas ADD COLUMN last_attempt_at TEXT;
ALTER TABLE account_quotas ADD COLUMN last_failure TEXT;
ALTER TABLE account_quotas ADD COLUMN failures_in_a_row INTEGER NOT NULL DEFAULT 0;
ALTER TABLE account_quotas ADD COLUMN backoff_until TEXT;
ALTER TABLE account_quotas ADD COLUMN thinned_at TEXT;

-- What the user has said of an account. No row: nothing.
CREATE TABLE account_controls (
    account TEXT PRIMARY KEY,
    reserve REAL NOT NULL DEFAULT 0 CHECK (reserve >= 0 AND reserve < 1),
    drained INTEGER NOT NULL DEFAULT 0,
    disabled INTEGER NOT NULL DEFAULT 0,
    changed_at TEXT NOT NULL
) WITHOUT ROWID;

-- What was left of a window when it was reset.
CREATE TABLE unused_quota (
    account TEXT NOT NULL,
    window TEXT NOT NULL,
    resets_at_ms INTEGER NOT NULL,
    unused REAL NOT NULL,
    last_read_ms INTEGER NOT NULL,
    PRIMARY KEY (account, window, resets_at_ms)
) WITHOUT ROWID;

-- Alerts that have been raised, so that each is raised once for a window's cycle.
CREATE TABLE alerts (
    account TEXT NOT NULL,
    window TEXT NOT NULL,
    kind TEXT NOT NULL,
    resets_at_ms INTEGER NOT NULL,
    raised_at TEXT NOT NULL,
    PRIMARY KEY (account, window, kind, resets_at_ms)
) WITHOUT ROWID;

-- What was spent since a rate was last learned: readings come more often than lessons.
ALTER TABLE quota_windows ADD COLUMN pending_delta REAL NOT NULL DEFAULT 0;
ALTER TABLE quota_windows ADD COLUMN pending_turns INTEGER NOT NULL DEFAULT 0;
