-- The beginnings of words get an index of their own, for `begin*` without putting all places of all such words together:
-- 350 ms for a common beginning among a million turns, 5 with it. Longer beginnings begin with fewer and rarer words.
-- No table of lengths (`columnsize`): the index's own ranking would be its only reader. Merging 8 pieces at a time, not 4,
-- pays for most of it. Turns are indexed anew by the next search; nothing that was said lies here alone.
DROP TRIGGER search_pairs_delete;
DROP TABLE turn_search;
DROP TABLE turn_search_pairs;
DELETE FROM search_docs;
DELETE FROM search_pairs_due;
UPDATE search_state SET indexed_to = 0, most_spill = 0;

CREATE VIRTUAL TABLE turn_search USING fts5 (
    text, tags, content = '', columnsize = 0, prefix = '3 4', tokenize = "unicode61 remove_diacritics 2"
);
INSERT INTO turn_search (turn_search, rank) VALUES ('hashsize', 8388608);
INSERT INTO turn_search (turn_search, rank) VALUES ('automerge', 8);

-- One sign is looked for as the beginning of a pair.
CREATE VIRTUAL TABLE turn_search_pairs USING fts5 (
    text, tags, columnsize = 0, prefix = '1 3 4', tokenize = "unicode61 remove_diacritics 2"
);

CREATE TRIGGER search_pairs_delete BEFORE DELETE ON search_docs
BEGIN
    DELETE FROM turn_search_pairs WHERE rowid = old.doc;
    DELETE FROM search_pairs_due WHERE turn = old.turn;
END;
