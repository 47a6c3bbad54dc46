"""Blocks of code with the tones of their language: every sign stays, and no line is wider than it may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import lexers

from oulipoly_tui.view.transcript.code import break_line, highlight_code, prepare
from oulipoly_tui.view.transcript.markdown import markdown
from oulipoly_tui.view.transcript.spans import cells, plain

PYTHON = "def walk(n):  # far\n    return 'é' * n\n"


def tones(lines):
    return {text.strip(): tone for line in lines for text, tone in line if text.strip()}


def test_words_of_a_language_have_tones():
    found = tones(highlight_code(PYTHON, "python"))

    assert ("keyword", "strong", "dim", "string") == (found["def"], found["walk"], found["# far"], found["'é'"])


@pytest.mark.parametrize("language", ["diff", "patch"])
def test_differences_say_what_came_and_went(language):
    found = tones(highlight_code("@@ -1 +1 @@\n-old\n+new\n same", language))

    assert {"@@ -1 +1 @@": "accent", "-old": "bad", "+new": "good", "same": ""} == found


@pytest.mark.parametrize("language", ["", "no-such-language", "{}"])
def test_unknown_languages_are_left_alone(language):
    assert highlight_code(PYTHON, language) is None


def test_a_block_too_long_to_be_looked_at_is_left_alone():
    assert highlight_code("x = 1\n" * 2_001, "python") is None


@given(
    code=st.text(st.characters(blacklist_categories=("C", "Z"), blacklist_characters="`~") | st.sampled_from(" \n")),
    language=st.sampled_from(["python", "json", "bash", "diff", "typescript", "html"]),
    width=st.integers(1, 30),
)
def test_no_sign_is_lost_and_no_line_is_too_wide(code, language, width):
    lines = highlight_code(code, language)

    assert code == "\n".join(map(plain, lines))
    for line in lines:
        pieces = break_line(line, width)
        assert plain(line) == "".join(map(plain, pieces))
        assert all(cells(plain(piece)) <= max(width, 2) for piece in pieces)


def test_a_fenced_block_has_as_many_lines_with_tones_as_without():
    fenced = [f"```{language}\n{PYTHON}```" for language in ("python", "nolanguage")]

    with_tones, without = ([plain(one.line) for one in markdown(text, 14)] for text in fenced)

    assert without[1:] == with_tones[1:]


def test_what_was_prepared_is_not_loaded_again(monkeypatch):
    prepare("lua")
    monkeypatch.setattr(lexers, "get_lexer_by_name", None)  # whoever loads one now fails

    assert tones(highlight_code("local x = nil", "lua"))
    prepare("diff")
    prepare("")
