"""The search as it is typed: a word that is not finished finds what begins so, and no limit is called a total."""

from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.search.snippet import Snippet
from oulipoly_engine.core.sessions.sessions import Part, Session
from oulipoly_engine.facade.sessions.types import Hit
from oulipoly_engine.records import replace
from oulipoly_tui.view.sessions.search import as_typed, count_text, hit_rows
from oulipoly_tui.view.transcript.spans import cut, plain

AT = "2026-11-20T11:00:00Z"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def hit(row_id, session_id, speaker, words, title="Mend the roof"):
    session = Session(f"{session_id}-c", "opus", AT, AT, (Part("ada", session_id, AT, None, title=title),))
    shown = Snippet(words, ((0, 4),))
    return Hit("ada", session_id, f"e{row_id}", row_id, "user", AT, shown, "claude", session, speaker=speaker)


def test_hits_stand_below_their_sessions_with_who_said_them():
    hits = (
        hit(3, "s1", "me", "roof one"),
        hit(2, "s2", "tool", "roof two", "Paint it"),
        hit(1, "s1", "agent", "roof 3"),
    )
    rows = hit_rows(hits, 60, NOW)
    texts = [plain(row.line).split() for row in rows]

    assert ["Mend", "the", "roof", "ada", "·", "1", "h", "·", "2", "hits"] == texts[0]
    assert [["me", "1", "h", "roof", "one"], ["agent", "1", "h", "roof", "3"]] == texts[1:3]
    assert ["Paint", "it", "ada", "·", "1", "h", "·", "1", "hit"] == texts[3]
    assert ["3", "1", "2"] == [row.key for row in rows if row.is_selectable]


def test_what_was_found_is_in_sight_however_far_it_stands_in_its_line():
    found = replace(hit(1, "s1", "me", ""), snippet=Snippet("x" * 90 + " needle" + " y" * 9, ((91, 97),)))
    line = hit_rows((found,), 60, NOW)[1].line

    assert "needle" in cut(plain(line), 60)
    assert ("needle", "accent") in line


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("humid", "humid*"),
        ("roof humid", "roof humid*"),
        ('"burn rate" hum', '"burn rate" hum*'),
        ("hu", "hu"),  # too short to be a beginning
        ("humid ", "humid "),
        ("humid*", "humid*"),
        ("-humid", "-humid"),
        ("account:clau", "account:clau"),
        ('"burn rat', '"burn rat'),
    ],
)
def test_last_word_may_not_be_finished(typed, asked):
    assert asked == as_typed(typed)


@pytest.mark.parametrize(
    ("count", "unindexed", "expected"),
    [
        (0, 0, "0 turns, the newest first"),
        (1, 0, "1 turn, the newest first"),
        (200, 0, "the newest 200 turns; more words narrow it"),
        (3, 4_000, "3 turns, the newest first; 4,000 turns are not indexed yet"),
    ],
)
def test_a_limit_is_not_called_a_total(count, unindexed, expected):
    assert expected == count_text(count, 200, unindexed)
