-- Full-text search over the bodies of turns. Contentless: the texts lie in session_turns once, and only there.
-- Documents are numbered by time (seconds since 1970 times 8, then the next free number), so that the newest matches
-- come first without sorting and a range of dates is a range of numbers. The column `tags` holds one word each for
-- account, role, session and side chain, so that a field narrows a search inside the index.
CREATE VIRTUAL TABLE turn_search USING fts5 (
    text, tags, content = '', tokenize = "unicode61 remove_diacritics 2"
);
-- A quarter of a scan's batch goes to the disk at once; the default of 1 MB made 4 times as many pieces to merge.
INSERT INTO turn_search (turn_search, rank) VALUES ('hashsize', 8388608);

CREATE TABLE search_docs (
    doc INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL UNIQUE
);

-- Turns up to `indexed_to` are indexed; no turn that is stored later gets a lower id (see the trigger below).
CREATE TABLE search_state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    indexed_to INTEGER NOT NULL DEFAULT 0,
    most_spill INTEGER NOT NULL DEFAULT 0
);
INSERT INTO search_state (only_row) VALUES (1);

-- What is indexed of a turn. The index forgets a turn only when it is told the very words that it was given.
CREATE VIEW search_source AS
SELECT
    t.id AS turn,
    (
        SELECT group_concat(part.atom, char(10))
        FROM json_tree(CASE WHEN json_valid(t.body) THEN t.body END) AS part
        WHERE part.key = 'text' AND part.type = 'text'
    ) AS text,
    'a' || hex(t.provider_name) || ' r' || hex(t.role) || ' s' || hex(t.session_id) || ' k' || (t.is_sidechain <> 0)
        AS tags
FROM session_turns AS t;

CREATE TRIGGER turn_search_delete BEFORE DELETE ON session_turns
WHEN EXISTS (SELECT 1 FROM search_docs WHERE turn = old.id)
BEGIN
    INSERT INTO turn_search (turn_search, rowid, text, tags)
    SELECT 'delete', d.doc, s.text, s.tags
    FROM search_docs AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = old.id;
    DELETE FROM search_docs WHERE turn = old.id;
END;

-- SQLite gives the id of a deleted last row again: the mark goes back, else the turn that gets it is never indexed.
CREATE TRIGGER turn_search_mark AFTER DELETE ON session_turns
WHEN old.id <= (SELECT indexed_to FROM search_state)
BEGIN
    UPDATE search_state SET indexed_to = MIN(indexed_to, (SELECT COALESCE(MAX(id), 0) FROM session_turns));
END;

CREATE TRIGGER turn_search_update_before
BEFORE UPDATE OF body, provider_name, role, session_id, is_sidechain ON session_turns
WHEN EXISTS (SELECT 1 FROM search_docs WHERE turn = old.id)
BEGIN
    INSERT INTO turn_search (turn_search, rowid, text, tags)
    SELECT 'delete', d.doc, s.text, s.tags
    FROM search_docs AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = old.id;
END;

CREATE TRIGGER turn_search_update_after
AFTER UPDATE OF body, provider_name, role, session_id, is_sidechain ON session_turns
WHEN EXISTS (SELECT 1 FROM search_docs WHERE turn = new.id)
BEGIN
    INSERT INTO turn_search (rowid, text, tags)
    SELECT d.doc, s.text, s.tags
    FROM search_docs AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = new.id;
END;
