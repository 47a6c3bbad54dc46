-- The server's devices (contract of worktree sessions, C: LAN use). Secrets are kept as SHA-256 alone.
CREATE TABLE web_devices (
    device_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('device', 'link', 'request')),
    name TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    request_id TEXT,
    created_at TEXT NOT NULL,
    last_seen_at TEXT,
    expires_at TEXT,
    confirmed_until TEXT,
    revoked_at TEXT
);

-- Codes that are traded for a device's token, once.
CREATE TABLE web_codes (
    code_hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at TEXT NOT NULL
);

-- Wrong tokens and codes by the address that they came from.
CREATE TABLE web_failures (
    address TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at TEXT NOT NULL
);

-- Answers by their idempotency key; without a status: the order is under way, or a kill has cut it.
CREATE TABLE web_replies (
    device_id TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    status INTEGER,
    content_type TEXT NOT NULL DEFAULT '',
    location TEXT NOT NULL DEFAULT '',
    body BLOB,
    begun_at TEXT NOT NULL,
    PRIMARY KEY (device_id, key)
);

-- Requests that a person was told of, once, whichever server has done it.
CREATE TABLE web_notices (
    request_id TEXT PRIMARY KEY,
    told_at TEXT NOT NULL,
    withdrawn_at TEXT
);

-- The servers that run, so that commands know their addresses.
CREATE TABLE web_servers (
    pid INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    started_at TEXT NOT NULL
);
