"""The rows of the Sessions pane: their order, their words, and how little is done for ten thousand of them."""

from datetime import UTC, datetime, timedelta

import pytest
from oulipoly_tui.view import sessions as view
from oulipoly_tui.view.sessions import Grouping, Kind, Look, SessionRows, badges, groups, short_age
from oulipoly_tui.view.spans import cells, plain
from oulipoly_tui.view.trace import trace_rows

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.conversations import Conversation, Part, Sort
from oulipoly_engine.core.query import Query, parse
from oulipoly_engine.service.conversations import Listed
from oulipoly_engine.service.session_board import Board
from oulipoly_engine.store.spawned import Spawned

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def listed(number, *, hours=0.0, cwd="/home/ada/work", account="ada", purge_days=None, here=True, **more):
    at = to_text(NOW - timedelta(hours=hours))
    part = Part(
        account,
        f"{number:08x}-s",
        at,
        None,
        turns=number,
        title=f"words of {number}",
        cwd=cwd,
        side_chains=more.pop("side_chains", 0),
    )
    one = Conversation(f"{number:08x}-c", "opus", at, at, (part,), **more)
    ends = None if purge_days is None else NOW + timedelta(days=purge_days)
    return Listed(one, "claude", has_transcript=here, purge_at=ends)


def board(*rows, **more):
    chains = {one.conversation.chain_id: one for one in rows}
    return Board(NOW, tuple(rows), home="/home/ada", by_chain=chains, **more)


def rows(found, width=60, grouping=Grouping.WORKSPACE, sort=Sort.USED, query=None, **look):
    put = groups(found, query or Query(), sort, grouping, NOW)
    return SessionRows(found, put, Look(width, NOW, grouping, **look))


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
        (4, ["at risk in 2 d", "2 side chains"]),
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
    keys = [item.key for item in found.items if item.kind is Kind.CONVERSATION]

    assert 3 == len(found.between(keys[0], keys[2]))
    assert found.between(keys[0], keys[2]) == found.between(keys[2], keys[0])


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "now"), (300, "5 m"), (7_200, "2 h"), (86_400 * 3, "3 d"), (86_400 * 40, "11 Oct")]
)
def test_an_age_is_short(seconds, text):
    assert text == short_age(to_text(NOW - timedelta(seconds=seconds)), NOW)


def test_a_title_is_only_ever_text():
    hostile = listed(7, name="\x1b[2J[red]x[/]\x07")

    assert all(line.isprintable() for line in shown(board(hostile)))
    assert any("[red]x[/]" in line for line in shown(board(hostile)))


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
