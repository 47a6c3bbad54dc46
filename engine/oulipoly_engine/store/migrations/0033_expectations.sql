-- How many turns a run was expected to take: charged to its account while it goes on, compared once they were counted.
CREATE TABLE run_expectations (
    invocation_id INTEGER NOT NULL PRIMARY KEY REFERENCES invocations (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    expected_turns REAL NOT NULL,
    planned_session TEXT,
    turns INTEGER
);
CREATE INDEX idx_run_expectations_open ON run_expectations (invocation_id) WHERE turns IS NULL;

-- How long the runs of a model have been, of each project and, without one, of all.
CREATE TABLE run_lengths (
    model_name TEXT NOT NULL,
    project TEXT NOT NULL,
    runs INTEGER NOT NULL,
    turns REAL NOT NULL,
    log_turns REAL NOT NULL,
    log_variance REAL NOT NULL,
    PRIMARY KEY (model_name, project)
);

CREATE INDEX idx_invocations_running ON invocations (provider_name) WHERE status = 'running';
