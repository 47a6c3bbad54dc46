-- Which version of each CLI was seen last, and every look at one (contract, section 13).
CREATE TABLE cli_versions (
    cli_name TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    recorded_at TEXT NOT NULL
);
CREATE TABLE cli_version_history (
    id INTEGER PRIMARY KEY,
    cli_name TEXT NOT NULL,
    version TEXT NOT NULL,
    recorded_at TEXT NOT NULL
);
