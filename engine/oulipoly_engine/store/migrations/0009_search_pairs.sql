-- Chinese and Japanese in full-text search: turns that hold any are indexed a second time, whole, with such text cut
-- into pairs of signs (core/cjk.py). This index keeps what it was given, so that triggers can take it out again.
CREATE VIRTUAL TABLE turn_search_pairs USING fts5 (
    text, tags, tokenize = "unicode61 remove_diacritics 2"
);

-- Turns of turn_search that are to be looked at again: those from before this migration, and changed ones.
CREATE TABLE search_pairs_due (
    turn INTEGER PRIMARY KEY
);
INSERT INTO search_pairs_due (turn) SELECT turn FROM search_docs;

-- On the table of numbers, not on turns: whatever removes a turn from the first index removes its number.
CREATE TRIGGER search_pairs_delete BEFORE DELETE ON search_docs
BEGIN
    DELETE FROM turn_search_pairs WHERE rowid = old.doc;
    DELETE FROM search_pairs_due WHERE turn = old.turn;
END;

CREATE TRIGGER search_pairs_update AFTER UPDATE OF body, provider_name, role, session_id, is_sidechain ON session_turns
WHEN EXISTS (SELECT 1 FROM search_docs WHERE turn = new.id)
BEGIN
    DELETE FROM turn_search_pairs WHERE rowid = (SELECT doc FROM search_docs WHERE turn = new.id);
    INSERT OR IGNORE INTO search_pairs_due (turn) VALUES (new.id);
END;
