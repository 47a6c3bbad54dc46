import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.search.query import Term
from oulipoly_engine.core.search.rank import scores
from oulipoly_engine.core.search.snippet import fold, places, snippet


def marked(text, *terms, width=160):
    found = snippet(text, terms, width)
    return [found.text[begin:end] for begin, end in found.marks]


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("the Burn rate", [Term("burn")], ["Burn"]),
        ("burning burn", [Term("burn")], ["burn"]),
        ("burning burn", [Term("bur", is_prefix=True)], ["bur", "bur"]),
        ("a burn-rate here", [Term("burn rate")], ["burn-rate"]),
        ("Café", [Term("cafe")], ["Café"]),
        ("foo_bar foo", [Term("foo")], ["foo", "foo"]),
        ("one two", [Term("two", is_negated=True)], []),
        ("one two", [], []),
    ],
)
def test_what_the_index_finds_is_marked(text, terms, expected):
    assert expected == marked(text, *terms)


def test_snippet_is_cut_around_the_densest_place():
    text = "needle " + "hay " * 200 + "needle needle needle " + "hay " * 200

    found = snippet(text, [Term("needle")], 80)

    assert 3 == len(found.marks)
    assert found.text.startswith("…")
    assert found.text.endswith("…")


def test_white_space_and_control_signs_become_one_space():
    assert "a b c" == snippet("a\n\n\tb\x1b\x07 c", []).text


@given(st.text())
def test_folding_keeps_every_sign_at_its_place(text):
    assert len(text) == len(fold(text))


@given(st.text(max_size=400), st.text(min_size=1, max_size=5), st.integers(10, 100))
def test_marks_lie_inside_the_snippet_and_ascend(text, word, width):
    found = snippet(text + " " + word + " " + text, [Term(word)], width)

    flat = [place for mark in found.marks for place in mark]
    assert sorted(flat) == flat
    assert all(0 <= place <= len(found.text) for place in flat)
    assert found.text.replace("…", "").isprintable()


def test_rank_prefers_what_is_said_often_in_few_words():
    told = scores(["needle " + "hay " * 50, "needle needle hay", "hay"], [Term("needle")])

    assert told[1] > told[0] > told[2] == 0


def test_places_are_bounded():
    assert 200 == len(places("a " * 10_000, [Term("a")]))
