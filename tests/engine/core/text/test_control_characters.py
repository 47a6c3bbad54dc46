"""What a terminal obeys and what nobody sees is shown in texts and escaped in JSON and TOML; everything else stays."""

import json
import tomllib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.text.control_characters import escape_json, escape_toml, visible_line, visible_text

ARABIC_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
LETTERS = "é漢 \t🙂👨\u200d👩\u200d👧 می\u200cخواهم क्\u200dष"  # noqa: RUF001 - as people write
TEXTS = st.text(st.characters() | st.sampled_from("\x1b\x7f\x9b\u202e\u200d\u2028\ufeff\U000e0041\ud800a"))


def is_hidden(character):
    category = unicodedata.category(character)
    is_formed = "\U00013430" <= character <= "\U0001345f"  # of hieroglyphs
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in ARABIC_SIGNS and not is_formed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x07", "␛[2J␇"),
        ("a\x7f\x9bb", "a␡<U+009B>b"),
        ("a\u202eb\u2066", "a<U+202E>b<U+2066>"),
        ("a\u2028\u2029b", "a<U+2028><U+2029>b"),
        ("tag\U000e0041\udcff", "tag<U+E0041><U+DCFF>"),
        ("a\u200db", "a<U+200D>b"),
        ("é\u200b\u200dé\u200d", "é<U+200B><U+200D>é<U+200D>"),
        (LETTERS, LETTERS),
        ("two\n\tlines\r\n", "two\n\tlines␍\n"),
    ],
)
def test_a_text_shows_what_a_terminal_would_obey(text, shown):
    assert shown == visible_text(text)


def test_a_line_has_no_newline_and_no_tab_of_its_own():
    assert "a␊b␉c" == visible_line("a\nb\tc")


@given(TEXTS)
def test_nothing_hidden_is_left(text):
    line = visible_line(text)

    assert {*()} == {*filter(is_hidden, line)} - {*"\u200c\u200d"}
    assert visible_line(line) == line


@given(TEXTS)
def test_json_keeps_its_value(text):
    written = escape_json(json.dumps({text: [text]}, ensure_ascii=False))

    assert {text: [text]} == json.loads(written)
    assert not any(map(is_hidden, written))
    written.encode()


@given(TEXTS.filter(lambda text: not any("\ud800" <= one <= "\udfff" for one in text)))
def test_toml_keeps_its_value(text):
    written = escape_toml(json.dumps(text, ensure_ascii=False))

    assert text == tomllib.loads(f"a = {written}")["a"]
    assert not any(map(is_hidden, written))
