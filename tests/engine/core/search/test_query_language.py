from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oulipoly_engine.core.search.query import Field, FieldName, Query, Term, parse
from oulipoly_engine.errors import UsageInvalid

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def day(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def read(text):
    return parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("reset", (Term("reset"),)),
        ("two  words\twide", (Term("two"), Term("words"), Term("wide"))),
        ('"burn rate"', (Term("burn rate"),)),
        ('"never closed', (Term("never closed"),)),
        ("-draft", (Term("draft", is_negated=True),)),
        ('-"old draft"', (Term("old draft", is_negated=True),)),
        ("forec*", (Term("forec", is_prefix=True),)),
        ('"burn rat"*', (Term("burn rat", is_prefix=True),)),
        ("a - b", (Term("a"), Term("b"))),
        ("foo -> bar", (Term("foo"), Term("bar"))),
        ("http://host/path", (Term("http://host/path"),)),
        ("std::vector 12:30", (Term("std::vector"), Term("12:30"))),
        ('"account:x"', (Term("account:x"),)),
        ("same same", (Term("same"),)),
    ],
)
def test_words_phrases_negations_and_beginnings_are_read(text, terms):
    assert Query(terms=terms) == read(text)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("account:Claude2", (Field(FieldName.ACCOUNT, ("claude2",)),)),
        ("account:a account:b", (Field(FieldName.ACCOUNT, ("a", "b")),)),
        ("account:a,b", (Field(FieldName.ACCOUNT, ("a", "b")),)),
        ('cwd:"/home/me/my work"', (Field(FieldName.CWD, ("/home/me/my work",)),)),
        ("-role:user", (Field(FieldName.ROLE, ("user",), is_negated=True),)),
        ("CLI:codex", (Field(FieldName.CLI, ("codex",)),)),
    ],
)
def test_fields_are_read(text, fields):
    assert Query(fields=fields) == read(text)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("date:2026-11-01", day("2026-11-01"), day("2026-11-02")),
        ("date:2026-11", day("2026-11-01"), day("2026-12-01")),
        ("date:2026-12", day("2026-12-01"), day("2027-01-01")),
        ("date:2026", day("2026-01-01"), day("2027-01-01")),
        ("date:2026-11-01..", day("2026-11-01"), None),
        ("date:..2026-11-01", None, day("2026-11-02")),
        ("date:2026-11-01..2026-11-03", day("2026-11-01"), day("2026-11-04")),
        ("date:today", day("2026-11-20"), day("2026-11-21")),
        ("date:yesterday", day("2026-11-19"), day("2026-11-20")),
        ("date:<7d", NOW - timedelta(days=7), None),
        ("date:>2w", None, NOW - timedelta(days=14)),
        ("date:2026-11 date:<3h", NOW - timedelta(hours=3), day("2026-12-01")),
    ],
)
def test_dates_are_read_and_narrow_each_other(text, since, until):
    found = read(text)

    assert (since, until) == (found.since, found.until)


def test_flags_are_read():
    assert Query(pinned=True, sidechain=False) == read("is:pinned -is:sidechain")
    assert Query(failed=True) == read("is:failed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acount:x", "no field acount: did you mean account:"),
        ("TypeError:foo", "quote it"),
        ("account:", "account: stands without a value"),
        ("is:pined", "is:pinned or is:sidechain"),
        ("is:pinned -is:pinned", "asked for and refused"),
        ("date:soon", "date:soon is not a date"),
        ("date:2026-13", "is not a date"),
        ("date:2026-11-03..2026-11-01", "ends before it begins"),
        ("date:9999", "is not a date"),
        ("date:..", "is not a date"),
        ("-date:today", "turn it round"),
        ("->", "holds no word"),
        ("fo*", "begins too many words"),
        ("x" * 3000, "3000 characters"),
        (" ".join(f"w{number}" for number in range(65)), "65 words"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_out(text, message):
    with pytest.raises(UsageInvalid, match=message.replace("(", r"\(")):
        read(text)


def test_a_day_begins_at_midnight_of_the_user_s_zone():
    found = parse("date:2026-11-01", NOW, lambda naive: naive.replace(tzinfo=UTC) - timedelta(hours=2))

    assert day("2026-11-01") - timedelta(hours=2) == found.since


PIECES = st.sampled_from(['"', "-", "*", ":", "(", ")", "account:", "date:", "is:", "<7d", "..", "a", "NOT", " ", "\0"])


@given(st.one_of(st.text(), st.lists(PIECES, max_size=20).map("".join)))
def test_any_text_is_a_query_or_a_refusal(text):
    try:
        found = read(text)
    except UsageInvalid:
        return

    assert all(term.text.strip() for term in found.terms)
    assert all(field.values for field in found.fields)


@given(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=1, max_size=6, unique=True))
def test_plain_words_come_back_as_they_are(words):
    assert tuple(map(Term, words)) == read(" ".join(words)).terms
