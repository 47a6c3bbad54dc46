-- The full-text index anew, under other names: the tables of before stay as they are and `search_index.clear_batch` takes
-- them away in small steps, since dropping half a gigabyte here would lock all other processes out for seconds. Turns are
-- indexed anew by the next search; nothing that was said lies here alone.
--
-- The beginnings of words get an index of their own, for `begin*` without putting all places of all such words together:
-- 350 ms for a common beginning among a million turns, 5 with it. Longer beginnings begin with fewer and rarer words.
-- No table of lengths (`columnsize`): the index's own ranking would be its only reader. Merging 8 pieces at a time, not 4,
-- pays for most of it.
DROP TRIGGER search_pairs_delete;
DROP TRIGGER search_pairs_update;
DROP TRIGGER turn_search_delete;
DROP TRIGGER turn_search_update_before;
DROP TRIGGER turn_search_update_after;
DROP VIEW search_source;
DELETE FROM search_pairs_due;
UPDATE search_state SET indexed_to = 0, most_spill = 0;

CREATE VIRTUAL TABLE search_words USING fts5 (
    text, tags, content = '', columnsize = 0, prefix = '3 4', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO search_words (search_words, rank) VALUES ('hashsize', 8388608);
INSERT INTO search_words (search_words, rank) VALUES ('automerge', 8);

-- One sign is looked for as the beginning of a pair.
CREATE VIRTUAL TABLE search_pairs USING fts5 (
    text, tags, columnsize = 0, prefix = '1 3 4', tokenize = "unicode61 remove_diacritics 2"
);

-- Sessions have numbers, so that a match is told to be of a wanted one without its turn being looked up.
CREATE TABLE search_sessions (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    session_id TEXT NOT NULL,
    UNIQUE (session_id, account)
);

CREATE TABLE search_numbers (
    doc INTEGER PRIMARY KEY,
    turn INTEGER NOT NULL UNIQUE,
    session INTEGER NOT NULL
);

-- Turns of which only the beginning is indexed.
CREATE TABLE search_cut (
    turn INTEGER PRIMARY KEY
);

-- Narrowing sessions by folder, model and chain reads these alone.
CREATE INDEX idx_session_facts_narrow ON session_facts (cwd, cli_model, account, session_id, first_turn_at, last_turn_at);
CREATE INDEX idx_segments_narrow ON session_chain_segments (session_id, provider_name, chain_id);
CREATE INDEX idx_chains_model ON session_chains (model_name);

-- As in migration 5, but of a text of more than a million characters the first million: a 50 MB text took 700 MB of
-- memory, and the file was locked for others for many seconds.
CREATE VIEW search_source AS
SELECT
    t.id AS turn,
    (
        SELECT substr(group_concat(substr(part.atom, 1, 1048576), char(10)), 1, 1048576)
        FROM json_tree(CASE WHEN json_valid(t.body) THEN t.body END) AS part
        WHERE part.key = 'text' AND part.type = 'text'
    ) AS text,
    'a' || hex(t.provider_name) || ' r' || hex(t.role) || ' s' || hex(t.session_id) || ' k' || (t.is_sidechain <> 0)
        AS tags
FROM session_turns AS t;

CREATE TRIGGER search_words_delete BEFORE DELETE ON session_turns
WHEN EXISTS (SELECT 1 FROM search_numbers WHERE turn = old.id)
BEGIN
    INSERT INTO search_words (search_words, rowid, text, tags)
    SELECT 'delete', d.doc, s.text, s.tags
    FROM search_numbers AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = old.id;
    DELETE FROM search_numbers WHERE turn = old.id;
END;

-- Whatever removes a turn from the first index removes its number.
CREATE TRIGGER search_numbers_delete BEFORE DELETE ON search_numbers
BEGIN
    DELETE FROM search_pairs WHERE rowid = old.doc;
    DELETE FROM search_pairs_due WHERE turn = old.turn;
    DELETE FROM search_cut WHERE turn = old.turn;
END;

CREATE TRIGGER search_words_update_before
BEFORE UPDATE OF body, provider_name, role, session_id, is_sidechain ON session_turns
WHEN EXISTS (SELECT 1 FROM search_numbers WHERE turn = old.id)
BEGIN
    INSERT INTO search_words (search_words, rowid, text, tags)
    SELECT 'delete', d.doc, s.text, s.tags
    FROM search_numbers AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = old.id;
END;

CREATE TRIGGER search_words_update_after
AFTER UPDATE OF body, provider_name, role, session_id, is_sidechain ON session_turns
WHEN EXISTS (SELECT 1 FROM search_numbers WHERE turn = new.id)
BEGIN
    INSERT INTO search_words (rowid, text, tags)
    SELECT d.doc, s.text, s.tags
    FROM search_numbers AS d JOIN search_source AS s ON s.turn = d.turn WHERE d.turn = new.id;
    INSERT OR IGNORE INTO search_sessions (account, session_id) VALUES (new.provider_name, new.session_id);
    UPDATE search_numbers
    SET session = (
        SELECT number FROM search_sessions WHERE account = new.provider_name AND session_id = new.session_id
    )
    WHERE turn = new.id;
    DELETE FROM search_pairs WHERE rowid = (SELECT doc FROM search_numbers WHERE turn = new.id);
    INSERT OR IGNORE INTO search_pairs_due (turn) VALUES (new.id);
    DELETE FROM search_cut WHERE turn = new.id;
    INSERT INTO search_cut (turn)
    SELECT turn FROM search_source WHERE turn = new.id AND length(new.body) > 1048576 AND length(text) >= 1048576;
END;
