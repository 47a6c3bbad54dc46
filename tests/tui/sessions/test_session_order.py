"""The order of the list of sessions: headings, saved views, and what a CLI deletes soon."""

import os
import sys
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.core.checks.alerts import of_risk
from oulipoly_engine.core.sessions.sessions import Part, Session, Sort, sort_sessions
from oulipoly_engine.facade.sessions.types import Board, ListedSession
from oulipoly_engine.records import replace
from oulipoly_tui.orders import line
from oulipoly_tui.panes.terminal.open_terminal import label_of, program_of
from oulipoly_tui.view.frame.attention import alert_text, collect_attention, key_of, pane_of
from oulipoly_tui.view.sessions.columns import arrow, find_sort_at, format_headings, headings
from oulipoly_tui.view.sessions.groups import Group, Grouping
from oulipoly_tui.view.sessions.look import Look
from oulipoly_tui.view.sessions.sessions import Item, Kind, row_line
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.widgets.lines import VirtualList

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = 86_400


def one(name, account="ada", model="opus", entries=3, used="2026-11-20T10:00:00.000000Z"):
    part = Part(account, f"{name}-s", used, None, entries=entries, title=name, cwd="/w", last_entry_at=used)
    return Session(f"{name}-c", model, used, used, (part,))


def names(sort, *found, is_reversed=False):
    return "".join(each.title or "?" for each in sort_sessions(found, sort, is_reversed=is_reversed))


def test_texts_rise_and_what_has_none_stays_last_either_way():
    found = (one("b"), one(None), one("a"))

    assert ["ab?", "ba?"] == [names(Sort.NAME, *found, is_reversed=turned) for turned in (False, True)]


def test_numbers_fall_and_turn_round():
    found = (one("a", entries=1), one("b", entries=9), one("c", entries=5))

    assert ["bca", "acb"] == [names(Sort.ENTRIES, *found, is_reversed=turned) for turned in (False, True)]


def test_of_one_account_or_model_the_latest_leads():
    old, new = "2026-11-01T10:00:00.000000Z", "2026-11-19T10:00:00.000000Z"
    found = (one("a", "eve", used=old), one("b", "ada", used=old), one("c", "eve", used=new))

    assert ["bca", "cab"] == [names(Sort.ACCOUNT, *found, is_reversed=turned) for turned in (False, True)]


@pytest.mark.parametrize("width", [20, 40, 64, 80, 120])
@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("grouping", list(Grouping))
def test_headings_stand_over_their_columns_and_the_one_that_sorts_is_marked(width, sort, grouping):
    look = Look(width, NOW, grouping, sort=sort, is_reversed=True)
    line, known = plain(format_headings(look)), headings(look)

    assert width == cells(line) == known[-1].end
    assert (sort in [each.sort for each in known]) == (arrow(sort, is_reversed=True) in line)
    assert [each.sort for each in known] == [find_sort_at(look, each.end - 1) for each in known]


@pytest.mark.parametrize("sort", list(Sort))
def test_headings_are_whole_words_apart_from_each_other(sort):
    known = plain(format_headings(Look(120, NOW, Grouping.NONE, sort=sort))).replace("▼", "").replace("▲", "").split()

    assert ["title", "account", "CLI", "model", "turns", "created" if sort is Sort.CREATED else "used"] == known


def test_a_closed_heading_says_what_is_at_risk_behind_it():
    listed = ListedSession(one("a"), "claude", has_transcript=True, purge_at=NOW + timedelta(days=1))
    board = Board(NOW, (listed,), by_chain={"a-c": listed})
    item = Item("g:/w", Kind.GROUP, Group("g:/w", "/w", (listed,)))

    assert "▸ /w 1 1 at risk" == plain(row_line(item, board, Look(40, NOW, closed={"g:/w"})))
    assert "▾ /w 1" == plain(row_line(item, board, Look(40, NOW)))


def test_what_is_at_risk_wants_the_user_and_says_the_way_out(app_world, snapshot_of):
    risk = of_risk("ada", 2, "a-c", NOW + timedelta(hours=5), NOW)
    wanted = collect_attention(replace(snapshot_of(app_world, NOW), alerts=(risk,)), ())
    due = of_risk("ada", 1, "a-c", NOW, NOW)

    assert ((risk,), "sessions", "a-c") == (wanted, pane_of(risk), key_of(risk))
    assert "2 sessions of ada at risk, first in 5 h 0 m, not archived: A keeps them" == alert_text(risk, NOW)
    assert "1 session of ada at risk, now, not archived: A keeps it" == alert_text(due, NOW)


class Told:
    """What a tab knows of a terminal."""

    title, account, model, label = "", "ada", "<unknown>", "env CLAUDE_CONFIG_DIR=/x /opt/bin/claude --resume 9"


def test_a_tab_of_no_known_model_is_called_by_its_conversation_or_its_cli():
    assert "claude@ada" == label_of(Told())
    assert "attic@ada" == label_of(Told(), "attic")
    assert ["vim", ""] == [program_of("vim a=b"), program_of("")]


def test_a_tab_of_a_command_of_ours_is_called_as_one_types_it():
    own = Told()
    own.account, own.label = "", f"{sys.executable} -m oulipoly_tui account add claude"

    assert "agents account add claude" == label_of(own)


ROOTS = {"alpha": ("/w/alpha", 29), "beta": ("/w/beta", 1)}


@pytest.fixture
def listed(app_world, running, settled):
    """Open the app over two sessions, of which one is 29 days old; nothing is archived."""
    root = app_world.home / ".eve" / "projects"
    app_world.account("eve")
    app_world.model("talk", "eve")
    app_world.write("sessions.toml", f"[eve]\nturn_script = 'claude-code-turns {root}'\n")
    app_world.write("config.toml", "archive = false\n")
    for digit, (name, (cwd, days)) in enumerate(ROOTS.items(), 1):
        session = f"{str(digit) * 8}-1111-4111-8111-111111111111"
        path = root / cwd.replace("/", "-") / f"{session}.jsonl"
        path.parent.mkdir(parents=True)
        at = SystemClock().now() - timedelta(days=days)
        path.write_text(
            f'{{"type":"user","uuid":"u{digit}","parentUuid":null,"isSidechain":false,"sessionId":"{session}",'
            f'"cwd":"{cwd}","timestamp":"{to_text(at)}","message":{{"role":"user","content":"Talk of {name}"}}}}\n'
        )
        os.utime(path, (at.timestamp(), at.timestamp()))

    class Open:
        def __init__(self):
            self.context = running((100, 34), panes=["pools", "sessions"], reads_quota=False)

        async def __aenter__(self):
            app, pilot = await self.context.__aenter__()
            await pilot.press("3")
            await settled(pilot, lambda: app.frame.find("sessions") is not None)
            await settled(pilot, lambda: len(titles(app)) == 2)
            return app, pilot, partial(settled, pilot)

        async def __aexit__(self, *why):
            return await self.context.__aexit__(*why)

    return Open


def rows(app):
    return [plain(row.line) for row in app.query_one("#sessions-list", VirtualList).rows]


def titles(app):
    return [row.split("Talk of ")[1].split()[0] for row in rows(app) if "Talk of" in row]


def heading(app):
    return plain(app.query_one("#sessions-head").lines[0])


async def test_a_click_on_a_heading_sorts_and_the_order_is_the_same_at_the_next_start(listed):
    async with listed() as (app, pilot, until):
        await pilot.press("U")
        await until(lambda: titles(app) == ["alpha", "beta"])
        pane = app.frame.find("sessions")
        kept = pane.state()
        await pilot.press("s")
        pane.restore(kept)
        assert ("used", True) == (pane.order.sort, pane.order.is_reversed)

        await pilot.press("U")
        await until(lambda: titles(app) == ["beta", "alpha"])
        await pilot.click("#sessions-head", offset=(heading(app).index("title"), 0))
        await until(lambda: titles(app) == ["alpha", "beta"] and "title▲" in heading(app))
        await pilot.click("#sessions-head", offset=(heading(app).index("title"), 0))
        await until(lambda: titles(app) == ["beta", "alpha"] and "title▼" in heading(app))


async def test_a_view_is_kept_chosen_and_forgotten_and_u_brings_it_back(listed, app_world):
    async with listed() as (app, pilot, until):
        assert "there is no view 'x': V keeps what is shown" == line.run(app, "session view", ["x"])
        await pilot.press("slash", *"alpha", "enter", "w")
        await until(lambda: titles(app) == ["alpha"])
        app.order("session view save", ["old one"])
        await until(lambda: [one.name for one in app.snapshot.views] == ["old one"])
        await pilot.press("escape", "w")
        await until(lambda: len(titles(app)) == 2)
        app.order("session view", ["old one"])
        await until(lambda: titles(app) == ["alpha"] and app.frame.find("sessions").order.view_name == "old one")
        assert '[views."old one"]\nfilter = "alpha"' in (app_world.config / "app.toml").read_text()
        app.order("session view delete", ["old one"])
        await until(lambda: type(app.screen).__name__ == "Confirm")
        await pilot.press("y")
        await until(lambda: not app.snapshot.views)
        await pilot.press("u")
        await until(lambda: [one.name for one in app.snapshot.views] == ["old one"])

        # It is offered on the line, and an unknown one is refused.
        assert ("session view old one",) == line.completions("session view o", app.snapshot)
        assert "there is no view 'x': there are old one" == line.run(app, "session view delete", ["x"])


async def test_what_is_at_risk_is_gone_to_and_archived_from_there(listed):
    async with listed() as (app, pilot, until):
        await pilot.press("g", "h")  # a closed heading must not hide it
        app.take_snapshot()
        await until(lambda: [alert.count for alert in app.snapshot.alerts_of("at-risk")] == [1])
        wanted = [alert for alert in app.alerts.list_attention() if alert.kind == "at-risk"]
        assert 1 == len(wanted)
        while app.alerts._last is None or app.alerts._last.identity != wanted[0].identity:
            await pilot.press("alt+n")
        pane = app.frame.find("sessions")
        await until(lambda: pane.cursor.listed is not None and pane.cursor.listed.session.chain_id == wanted[0].cause)
        await pilot.press("A")
        app.work("again", lambda: None, lambda _: None)
        await until(lambda: app.engine.sessions.catalogue.board().kept)
        app.take_snapshot()
        await until(lambda: not app.snapshot.alerts_of("at-risk"))


async def test_the_app_s_own_scan_keeps_copies_unless_told_not_to(listed, app_world):
    (app_world.config / "config.toml").write_text("")
    async with listed() as (app, pilot, until):
        await pilot.press("S")
        await until(lambda: len(app.engine.sessions.catalogue.board().kept) == 2)
