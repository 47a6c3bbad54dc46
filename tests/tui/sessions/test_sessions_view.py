"""The rows of the Sessions pane: their order, their words, and how little is done for ten thousand of them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.sessions import Part, Session, Sort, fits
from oulipoly_engine.facade.sessions.types import Board, ListedSession, Spawned
from oulipoly_engine.records import replace
from oulipoly_tui.view.sessions import groups as groups_module
from oulipoly_tui.view.sessions import sessions as view
from oulipoly_tui.view.sessions.groups import Grouping, Order, SessionIndex, groups, narrows
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.sessions.sessions import Kind, SessionRows, badges, short_age
from oulipoly_tui.view.sessions.trace import trace_rows
from oulipoly_tui.view.transcript.spans import cells, plain

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def listed(number, *, hours=0.0, cwd="/home/ada/work", account="ada", purge_days=None, here=True, **more):
    at = to_text(NOW - timedelta(hours=hours))
    part = Part(
        account,
        f"{number:08x}-s",
        at,
        None,
        entries=number,
        title=f"words of {number}",
        cwd=cwd,
        side_chains=more.pop("side_chains", 0),
    )
    one = Session(f"{number:08x}-c", "opus", at, at, (part,), **more)
    ends = None if purge_days is None else NOW + timedelta(days=purge_days)
    return ListedSession(one, "claude", has_transcript=here, purge_at=ends)


def board(*rows, **more):
    chains = {one.session.chain_id: one for one in rows}
    return Board(NOW, tuple(rows), home="/home/ada", by_chain=chains, **more)


def rows(found, width=60, grouping=Grouping.WORKSPACE, sort=Sort.USED, query=None, **look):
    put = groups(found, query or Query(), sort, grouping, NOW)
    return SessionRows(found, put, Look(width, NOW, grouping, **look))


def asked(text):
    return parse(text, NOW, lambda naive: naive.replace(tzinfo=UTC))


def shown(*args, **more):
    return [plain(row.line) for row in rows(*args, **more)]


FEW = board(
    listed(1, hours=1),
    listed(2, hours=50, pinned_at=to_text(NOW), name="kept"),
    listed(3, hours=2, cwd=None),
    listed(4, hours=800, account="bob", cwd="/srv/x", purge_days=2, side_chains=2),
    listed(5, hours=30, here=False, note="n"),
    kept=frozenset({("ada", "00000005-s")}),
    live=frozenset({("ada", "00000001-s")}),
)


@pytest.mark.parametrize("width", [30, 60, 120])
@pytest.mark.parametrize("grouping", list(Grouping))
def test_rows_are_drawn_as_in_the_goldens_and_never_wider(check_golden, width, grouping):
    drawn = shown(FEW, width=width, grouping=grouping)

    assert all(cells(line) <= width for line in drawn)
    check_golden(f"sessions-{grouping.value}-{width}", "\n".join(drawn))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, ["live"]),
        (2, ["pinned"]),
        (4, ["at risk in 2 d", "2 sub-agents"]),
        (5, ["archived only", "note"]),
    ],
)
def test_what_is_the_matter_is_said_in_words(number, words):
    one = FEW.of_chain(f"{number:08x}-c")

    assert words == [text for text, _ in badges(one, FEW, NOW)]


def test_a_pin_leads_its_group_and_pulls_no_group_up():
    days = [line for line in shown(FEW, grouping=Grouping.DAY) if line.startswith("▾")]

    assert days[0].startswith("▾ today")


def test_a_query_narrows_and_a_closed_group_hides():
    query = parse("account:bob", NOW, lambda naive: naive.replace(tzinfo=UTC))

    assert 2 == len(rows(FEW, query=query))
    assert 1 == len(rows(FEW, query=query, closed={"g:/srv/x"}))


def test_ten_thousand_rows_draw_only_those_that_are_looked_at(monkeypatch):
    many = board(*(listed(number, hours=number / 10) for number in range(10_000)))
    found = rows(many)
    drawn = []
    original = view.row_line
    monkeypatch.setattr(view, "row_line", lambda *args: drawn.append(args) or original(*args))
    keys = [row.key for row in found]
    screenful = [row.line for row in found[5_000:5_050]]

    assert 10_001 == len(keys)
    assert 50 == len(screenful) == len(drawn)


def test_a_range_takes_the_conversations_between_whichever_stands_first():
    found = rows(FEW)
    keys = [row.key for row in found if row.key.startswith(Kind.SESSION)]

    assert 3 == len(found.between(keys[0], keys[2]))
    assert found.between(keys[0], keys[2]) == found.between(keys[2], keys[0])


def test_a_row_is_found_where_it_stands_whatever_is_opened_or_closed():
    opened = {f"{number:08x}-c" for number in (1, 3, 5)}
    found = rows(FEW, opened=opened, closed={"g:/srv/x"})

    keys = [row.key for row in found]
    assert list(range(len(keys))) == [found.place_of(key) for key in keys]
    assert keys == [found.find(key).key for key in keys]
    assert found.place_of("c:00000004-c") is None


@pytest.mark.parametrize("text", ["words", "account:ada", "-note", "session:0000000", "is:pinned", "date:<7d", ""])
@pytest.mark.parametrize("more", [" of", " 3", " cwd:/home/ada*", " -kept", " 1", " cli:claude", " date:>1d"])
def test_a_filter_that_is_typed_on_finds_what_it_finds_at_once(text, more):
    index = SessionIndex(FEW)
    queries = [asked(one) for one in (text, text + more, text)]
    found = [index.arrange(Order(query, Sort.USED, Grouping.ACCOUNT, NOW)).groups for query in queries]

    assert [groups(FEW, query, Sort.USED, Grouping.ACCOUNT, NOW) for query in queries] == found
    fitting = {one.session.chain_id for one in FEW.rows if fits(queries[1], one.session, one.kind)}
    assert fitting == {one.session.chain_id for group in found[1] for one in group.members}


@pytest.mark.parametrize(
    ("before", "after", "is_narrower"),
    [
        ("roof", "roofs", True),
        ("roof", "oof", False),
        ("-roof", "-roo", True),
        ("-roo", "-roof", False),
        ("session:0", "session:01", True),
        ("account:a", "account:a,b", False),
        ("date:<7d", "", False),
        ("", "anything", True),
        ("is:pinned", "is:pinned x", True),
    ],
)
def test_only_a_filter_that_surely_finds_less_goes_on_from_the_last_one(before, after, is_narrower):
    assert narrows(asked(before), asked(after)) is is_narrower


def test_a_filter_looks_at_what_it_has_found_already_and_no_more(monkeypatch):
    index = SessionIndex(board(*(listed(number) for number in range(200))))
    index.arrange(Order(asked("words 19"), Sort.USED, Grouping.NONE, NOW))
    looked_at = []
    monkeypatch.setattr(groups_module, "_term_check", lambda _: lambda known: looked_at.append(known) or True)

    index.arrange(Order(asked("words 199"), Sort.USED, Grouping.NONE, NOW))

    assert 0 < len({known.listed.session.chain_id for known in looked_at}) < 20


@pytest.mark.parametrize(("offset", "heading"), [(0, "yesterday"), (9, "today")])
def test_days_are_those_of_the_readers_zone(offset, heading):
    zone = timezone(timedelta(hours=offset))
    now = NOW.astimezone(zone)
    put = groups(board(listed(1, hours=14)), Query(), Sort.USED, Grouping.DAY, now)

    assert [heading] == [group.title for group in put]


@pytest.mark.parametrize("width", [22, 26, 30, 40, 60])
def test_what_is_at_risk_is_said_as_long_as_the_title_can_be_cut(width):
    line = shown(board(listed(1, purge_days=2, hours=5)), width=width)[1]

    assert "at risk" in line
    assert cells(line) <= width


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "now"), (300, "5 m"), (7_200, "2 h"), (86_400 * 3, "3 d"), (86_400 * 40, "11 Oct")]
)
def test_an_age_is_short(seconds, text):
    assert text == short_age(to_text(NOW - timedelta(seconds=seconds)), NOW)


def test_a_title_is_only_ever_text():
    hostile = listed(7, name="\x1b[2J[red]x[/]\x07")

    assert all(line.isprintable() for line in shown(board(hostile)))
    assert any("[red]x[/]" in line for line in shown(board(hostile), width=80))


def test_a_fork_is_marked_before_its_title_and_told_where_there_is_room():
    plain_one = listed(1, hours=1)
    part = replace(plain_one.session.active, forked_from="abcdef01-2345")
    fork = ListedSession(replace(plain_one.session, parts=(part,)), "claude", has_transcript=True)

    assert "↱ words of 1" in shown(board(fork), width=24)[1]
    assert "fork of abcdef01" in shown(board(fork), width=100)[1]
    assert "↱" not in shown(board(plain_one))[1]


def test_account_cli_model_and_turns_are_shown_from_58_columns():
    found = board(listed(1_234, account="a-long-account-name"))
    index = SessionIndex(found)
    line = shown(found, width=58, longest=index.longest)[1]

    assert line.split()[-5:] == ["a-long-accoun…", "claude", "opus", "1,234", "now"]
    assert cells(line) == 58


def spawned(row, parent=None, status="succeeded", reason=None):
    return Spawned(row, f"u{row}", parent, "opus", "ada", status, None, to_text(NOW), None, reason)


def test_a_trace_nests_what_was_started_and_closes():
    found = (spawned(3, 2, "failed", "quota"), spawned(2, 1), spawned(1), spawned(9, 77))
    drawn = [plain(row.line) for row in trace_rows(found, {}, (), 60, NOW)]

    assert drawn[0].startswith("▾ opus → ada")
    assert drawn[1].startswith("  ▾ opus")
    assert "failed quota" in drawn[2]
    assert drawn[3].startswith("  opus")  # its parent is not among these
    assert "+1" in plain(trace_rows(found, {}, {"u1"}, 60, NOW)[0].line)


def test_a_trace_names_what_was_returned_where_there_is_room_for_it():
    one, two = replace(spawned(1), returned=("a\x1b.md",)), replace(spawned(2), returned=("b", "c", "d"))
    drawn, narrow = ([plain(row.line) for row in trace_rows((one, two), {}, (), width, NOW)] for width in (60, 30))

    assert "done returned a .md" in drawn[0]
    assert "done returned b +2" in drawn[1]
    assert not any("returned" in line for line in narrow)


def test_a_run_that_resumed_a_session_names_it():
    one = replace(spawned(1), session_id="abcdef01-2345", capture_method="resumed")
    drawn = [plain(trace_rows((one,), titles, (), 60, NOW)[0].line) for titles in ({one.session_id: "tides"}, {})]

    assert "opus → ada  resumed tides" in drawn[0]
    assert "opus → ada  resumed abcdef01" in drawn[1]
