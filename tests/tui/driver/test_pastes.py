"""Pastes on their way to the parser: whole, in any pieces, and without what it would type."""

import pytest

from oulipoly_tui.driver.pastes import Pastes

_BEGINS, _ENDS = "\x1b[200~", "\x1b[201~"


@pytest.mark.parametrize(
    ("text", "expected", "is_within"),
    [
        ("a\x1b[Ab", "a\x1b[Ab", False),
        ("\x1b[200~a", "\x1b[200~", True),
        ("k\x1b[200~a\x1b[201~\x1bl", "k\x1b[200~a\x1b[201~\x1bl", False),
        ("\x1b[200~a\x1b[0m\x1b\x1b[201~", "\x1b[200~a[0m\x1b[201~", False),
        ("\x1b[200~a\x1b[200~b\x1b[201~c", "\x1b[200~a[200~b\x1b[201~c", False),
        ("\x1b[200~\x1b[201~\x1b[200~", "\x1b[200~\x1b[201~\x1b[200~", True),
        ("a\x1b[201~", "a\x1b[201~", False),
    ],
)
def test_a_paste_is_passed_on_when_it_is_whole(text, expected, is_within):
    at_once, by_letters = Pastes(), Pastes()

    assert expected == at_once.feed(text)
    assert expected == "".join(map(by_letters.feed, text))
    assert [is_within] * 2 == [at_once.is_within, by_letters.is_within]


@pytest.mark.parametrize(
    ("text", "expected"), [("\x1b", False), ("\x1b[", False), ("a\x1b[2", True), ("\x1b[200", True), ("[2", False)]
)
def test_a_mark_that_is_not_whole_is_known(text, expected):
    pastes = Pastes()
    pastes.feed(text)

    assert pastes.is_beginning is expected


def test_what_was_typed_already_begins_no_paste():
    pastes = Pastes()
    pastes.feed("\x1b[20")
    pastes.forget()

    assert "0~a" == pastes.feed("0~a")
    assert not pastes.is_within


def test_a_paste_without_an_end_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("oulipoly_tui.driver.pastes._LIMIT", 1000)
    pastes = Pastes()
    found = "".join(pastes.feed(piece) for piece in (_BEGINS, *["abc\n" * 20] * 20))

    assert found.startswith(_BEGINS + "abc\nabc")
    assert 1 == found.count(_ENDS)
