-- What a person has allowed by a digest, of every subject: a repository's commands and a project's settings, which have
-- no further right, and an extension's rights. Table and columns keep their names: an older program may be running.
CREATE TABLE grants_of_every_subject (
    repository TEXT NOT NULL,
    digest TEXT NOT NULL,
    allowed_at TEXT NOT NULL,
    "right" TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (repository, digest, "right")
);
INSERT INTO grants_of_every_subject (repository, digest, allowed_at)
SELECT repository, digest, allowed_at FROM worktree_permissions;
DROP TABLE worktree_permissions;
ALTER TABLE grants_of_every_subject RENAME TO worktree_permissions;

-- How an extension does, of its files as they are.
CREATE TABLE extensions (
    name TEXT NOT NULL PRIMARY KEY,
    digest TEXT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    last_failure TEXT NOT NULL DEFAULT '',
    is_broken INTEGER NOT NULL DEFAULT 0,
    load_ms REAL
);
