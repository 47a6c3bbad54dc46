"""Chinese and Japanese in the full-text index: words without spaces around them are found."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.cjk import pair_phrase, pair_signs
from oulipoly_engine.core.search.query import Term
from oulipoly_engine.core.search.snippet import snippet
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.search import index as search_index
from oulipoly_engine.store.search.search import SearchScope, search
from oulipoly_engine.store.transcripts import entries

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TEXTS = {
    "ja": "設定ファイルの全文検索を速くする。",
    "zh": "请修复数据库的全文索引 in the AI模型 please",
    "mix": "the 検索 engine",
    "en": "plain english search",
}


class Rows:
    def __init__(self, path):
        self.store = open_store(path)
        found = [
            EntryLine("S", name, to_text(NOW - timedelta(seconds=at)), "user", body=self.body(text))
            for at, (name, text) in enumerate(TEXTS.items())
        ]
        with self.store.write():
            entries.insert_new(self.store, "acc", found, NOW)

    def body(self, text):
        return json.dumps([{"type": "text", "text": text}], ensure_ascii=False)

    def index(self):
        while search_index.index_batch(self.store):
            pass

    def change(self, sql, *parameters):
        with self.store.write():
            self.store.execute(sql, parameters)

    def found(self, *terms):
        self.index()
        wanted = tuple(term if isinstance(term, Term) else Term(term) for term in terms)
        return [match.entry_id for match in search(self.store, SearchScope(wanted), 9)]


@pytest.fixture
def rows(tmp_path):
    made = Rows(tmp_path / "state.db")
    yield made
    made.store.close()


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (["検索"], ["ja", "mix"]),
        (["全文"], ["ja", "zh"]),
        (["全文検索"], ["ja"]),
        (["文検"], ["ja"]),
        (["全文 索引"], []),
        (["索"], ["ja", "zh", "mix"]),
        (["る"], ["ja"]),
        (["ファイル"], ["ja"]),
        (["速くする。"], ["ja"]),
        (["検索", "engine"], ["mix"]),
        (["検索 engine"], ["mix"]),
        (["AI模型"], ["zh"]),
        (["データ"], []),
        (["検索", Term("engine", is_negated=True)], ["ja"]),
        (["search", Term("検索", is_negated=True)], ["en"]),
        (["the", Term("検索", is_negated=True)], ["zh"]),
        ([Term("検", is_prefix=True)], ["ja", "mix"]),
        (["検索", Term("eng", is_prefix=True)], ["mix"]),
    ],
)
def test_words_are_found_wherever_they_stand(rows, terms, expected):
    assert expected == rows.found(*terms)


def test_changed_and_deleted_turns_are_found_by_what_they_are_now(rows):
    rows.index()
    rows.change("UPDATE session_turns SET body = ? WHERE turn_id = 'ja'", rows.body("別の言葉"))
    rows.change("DELETE FROM session_turns WHERE turn_id = 'mix'")

    assert ([], ["ja"]) == (rows.found("検索"), rows.found("言葉"))
    assert [(2,)] == rows.store.rows("SELECT COUNT(*) FROM search_pairs")


def test_what_was_indexed_before_there_were_pairs_gets_them(rows):
    rows.index()
    rows.change("DELETE FROM search_pairs")
    rows.change("INSERT INTO search_pairs_due SELECT turn FROM search_numbers")

    assert ["ja", "mix"] == rows.found("検索")


def test_found_words_are_marked_inside_others():
    shown = snippet(TEXTS["ja"], [Term("検索")])

    assert ["検索"] == [shown.text[begin:end] for begin, end in shown.marks]


_SIGNS = st.text("検索全文かタ々ab ", min_size=1, max_size=8)


@given(_SIGNS, _SIGNS, st.text("検索全文かタ々", min_size=1, max_size=6))
def test_every_part_of_a_run_is_a_phrase_of_its_pairs(before, after, run):
    words, is_prefix = pair_phrase(run, is_prefix=False)
    held, wanted = pair_signs(before + run + after).split(), words.split()

    def begins(at):
        part = held[at : at + len(wanted)]
        return part[:-1] == wanted[:-1] and (part[-1].startswith(wanted[-1]) if is_prefix else part[-1] == wanted[-1])

    assert any(begins(at) for at in range(len(held) - len(wanted) + 1))
