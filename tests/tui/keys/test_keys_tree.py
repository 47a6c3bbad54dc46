"""Every key of the screen of a session's tree, and how it is opened: folding, filters, finding, going on, comparing."""

import sqlite3
import subprocess
from contextlib import closing

import pytest
from textual.widgets import Input

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.records import replace
from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
from oulipoly_engine.service.worktrees.snapshot.turns import take_turn
from oulipoly_engine.store.live import live_sessions, turn_files
from oulipoly_tui.screens.sessions import tree as screen
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys
NAIL = "One nail is in."
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4
SAID = (4, "Use slate instead"), (8, "And the chimney?")  # behind which entry of the roof's, and what


@pytest.fixture
def branched(talks):
    """The roof's session with a branch that was left, and two messages more where it goes on."""
    for behind, text in SAID:
        talks.roof.go_back_to(behind)
        talks.roof.say("user", text, minutes_ago=50)
        talks.roof.say("assistant", f"Yes: {text[:9]}", minutes_ago=50)
    return talks


def listing(one):
    return one.app.screen.query_one(VirtualList)


def rows(one):
    return [" ".join(plain(row.line).split()) for row in listing(one).rows]


def cursor(one):
    return " ".join(plain(listing(one).cursor_line).split())


async def open_tree(one):
    await one.press("H")
    await one.until(lambda: type(one.app.screen).__name__ == "TreeScreen")
    await one.until(lambda: any("me " in row for row in rows(one)))


async def go_to(one, words):
    key = next(row.key for row in listing(one).rows if words in plain(row.line))
    listing(one).go_to(key)
    await one.until(lambda: listing(one).cursor_key == key)


@keys("sessions.tree", "H")
@keys("TreeScreen", "escape", "q", "o", "O", "f", "slash", "n", "N", "b", "l", "space", "c", "R")
async def test_h_shows_all_branches_which_are_folded_filtered_searched_labelled_compared_and_gone_on_in(
    branched, sessions
):
    async with sessions(panes=("pools", "sessions"), size=(80, 24)) as one:
        await open_tree(one)
        await one.walk(
            see_where_it_goes_on,
            fold_and_unfold,
            filter_in_turn,
            find_over_all_branches,
            label,
            compare_two,
            go_on_elsewhere,
            change_nothing_in_read_only_mode,
            leave_and_come_by_the_line,
        )


async def see_where_it_goes_on(one):
    assert "Tree · without sub-agents · 12 · Mend the roof please" == one.title
    assert cursor(one).endswith("goes on here")
    await one.sees("├─ ▾ me    ", "└─ ▾ me    Use slate instead", "← goes on here")


async def fold_and_unfold(one):
    await go_to(one, "Yes: Use slate")
    await one.press("o")
    assert "Use slate instead +1" in cursor(one)
    assert 11 == len(rows(one))
    await one.press("enter")
    assert 12 == len(rows(one))
    await one.press("O")
    assert ["+5 ← goes on here", "+1"] == [row.partition("+")[1] + row.partition("+")[2] for row in rows(one)[4:]]
    await one.press("O")
    assert 12 == len(rows(one))
    await go_to(one, "Mend the roof")
    await one.press("o")
    await one.told("No branch leaves here")


async def filter_in_turn(one):
    for title, count in (("no tools", 10), ("user only", 5), ("labelled", 0), ("all", 14), ("without sub-agents", 12)):
        await one.press("f")
        await one.until(
            lambda title=title, count=count: one.title == f"Tree · {title} · {count} · Mend the roof please"
        )
        if not count:
            await one.sees("Nothing is said with this filter: f shows more.")
            await one.press("b")
            await one.told("There is no message here")


async def find_over_all_branches(one):
    await one.press("n")
    await one.told("Nothing is searched for")
    await one.press("O", "g", "slash")
    await one.until(lambda: one.app.focused is one.app.screen.query_one(Input))
    await one.press("escape")
    await one.press("slash")
    await one.type("step 29")  # in no preview
    await one.press("enter")
    await one.until(lambda: "One nail is in." in cursor(one))
    await one.press("slash")
    one.app.screen.query_one(Input).value = ""
    await one.type("yes:")
    await one.press("enter")
    for key, words in (("", "Yes: And"), ("n", "Yes: Use"), ("N", "Yes: And")):
        await one.press(*[key][: len(key)])
        await one.until(lambda words=words: words in cursor(one))
    await one.press("slash")
    one.app.screen.query_one(Input).value = SECRET[8:30]
    await one.press("enter")
    await one.told(f"{SECRET[8:30]!r} is in no message")


async def label(one):
    await go_to(one, "Use slate")
    await one.press("l")
    await one.at("Question")
    await one.type("the slate")
    await one.press("enter")
    await one.at("TreeScreen")
    await one.until(lambda: "[the slate]" in cursor(one))


async def compare_two(one):
    await go_to(one, "Yes: Use slate")
    await one.press("space")
    assert "◆ marked" in cursor(one)
    await go_to(one, "Yes: And")
    await one.press("c")
    await one.at("Reading")
    await one.sees(
        "= 4 messages are in both, the last one: # Done", "< This message", "> The marked one", "[the slate]"
    )
    await one.press("escape")
    await one.at("TreeScreen")
    await go_to(one, "Yes: Use slate")
    await one.press("space", "c")
    await one.at("Reading")
    await one.sees("> Where it goes on", "And the chimney?")
    await one.press("escape")
    await one.at("TreeScreen")


async def go_on_elsewhere(one):
    await go_to(one, "Yes: Use slate")
    for answer, is_moved in (("escape", False), ("y", True)):
        await one.press("b")
        await one.at("Confirm")  # a choice of summaries is offered where one can be made
        await one.sees("The session goes on behind this message; all that was said stays.", "name a model to sum up")
        await one.press(answer)
        await one.at("TreeScreen")
        await one.rest()
        await one.until(lambda is_moved=is_moved: is_moved == ("goes on here" in cursor(one)))
    await one.told("The session goes on there")
    assert 12 == len(rows(one))


async def change_nothing_in_read_only_mode(one):
    before = one.app.options
    one.app.options = replace(before, read_only=True)
    await one.press("b")
    await one.told("read-only")
    await one.press("l")
    await one.rest()
    one.app.options = before
    assert "TreeScreen" == type(one.app.screen).__name__


async def leave_and_come_by_the_line(one):
    await one.press("R", "q")
    await one.at("Frame")
    one.app.order("session tree")
    await one.at("TreeScreen")
    await one.until(lambda: 12 == len(rows(one)))
    await one.back()
    one.app.order("session tree", ["nonsense"])
    await one.at("TreeScreen")
    await one.sees("nonsense")
    await one.back()


@keys("transcript.tree", "H")
async def test_h_in_a_transcript_shows_its_tree_in_forty_columns(branched, transcript):
    async with transcript(panes=("pools", "sessions", "transcript"), size=(120, 30)) as one:
        await one.pilot.resize_terminal(40, 12)
        await open_tree(one)
        await one.sees("Tree · without sub-agents · 12", "And the chimney?", "←")
        await one.back()


@pytest.fixture
def kept(talks):
    """A repository with a file as it is now; the roof's session works in it, and a snapshot has the file of before."""
    folder = talks.world.home / "repo"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "a").write_text("then")
    engine = Engine()
    now = SystemClock().now()
    with engine.worktrees._home.lend_store() as store:
        session = LiveSession(
            "s1", str(folder), "eve", "claude", "m", now, now, account="eve", native_id=talks.roof.path.stem
        )
        live_sessions.insert(store, session)
        live_sessions.insert_turn(store, Turn("t1", "s1", "user", "starting", "hi", "", now))
        reference = take_turn(open_checkout(Place("s1", folder)), "t1", now).reference
        turn_files.note(store, "t1", Moment.AFTER, reference)
    engine.close()
    (folder / "a").write_text("now")
    (folder / "b").write_text("new")
    return folder


@keys("TreeScreen", "b")
async def test_b_asks_whether_files_go_back_too_and_shows_what_they_become(kept, talks, sessions):
    async with sessions(panes=("pools", "sessions"), size=(80, 24)) as one:
        await open_tree(one)
        with closing(sqlite3.connect(talks.world.data / "state.db")) as connection:
            connection.execute("UPDATE session_turns SET live_turn_id = 't1' WHERE body LIKE ?", (f"%{NAIL}%",))
            connection.commit()
        await go_to(one, NAIL)
        await one.press("b")
        await one.at("Choice")
        await one.sees("Chat and files: 1 change, 1 go", "Files alone: 1 change, 1 go")
        await one.press("j", "enter")
        await one.at("Review")
        await one.sees("changes a", "goes    b", "What is there now is kept first.")
        await one.press("n")
        await one.at("TreeScreen")
        assert ["now", "new"] == [(kept / name).read_text() for name in "ab"]

        await one.press("b")
        await one.at("Choice")
        await one.press("j", "enter")
        await one.at("Review")
        await one.press("y")
        await one.at("Reading")
        await one.sees("This leads back:", "--files-from")
        assert ["then"] == [path.read_text() for path in kept.iterdir() if path.is_file()]
        await one.press("escape")
        await one.at("TreeScreen")
        await one.until(lambda: "goes on here" in cursor(one))

        await go_to(one, "And the ladder?")  # of which no snapshot has the files
        await one.press("b")
        await one.at("Confirm")


@pytest.mark.parametrize(("last", "expected"), [(4, [True, False]), (100, [False])], ids=["long", "short"])
async def test_of_a_long_tree_the_end_is_shown_first_and_the_cursor_stays_where_it_goes_on(
    branched, sessions, monkeypatch, last, expected
):
    monkeypatch.setattr(screen, "LAST_ENTRIES", last)
    taken = []
    take = screen.TreeScreen._take

    def note(self, kept, answer):
        take(self, kept, answer)
        taken.append(answer[1].is_part)

    monkeypatch.setattr(screen.TreeScreen, "_take", note)
    async with sessions(panes=("pools", "sessions"), size=(80, 16)) as one:
        await open_tree(one)
        await one.until(lambda: "Tree · without sub-agents · 12 · Mend the roof please" == one.title)
        await one.sees("← goes on here")
        assert expected == taken


async def test_a_filter_leaves_the_cursor_on_its_message_or_on_what_that_followed_on(branched, sessions):
    async with sessions(panes=("pools", "sessions"), size=(80, 12)) as one:
        await open_tree(one)
        await go_to(one, "Yes: Use slate")
        await one.press("f", "f")
        await one.until(lambda: one.title.startswith("Tree · user only · 5"))
        assert "Use slate instead" in cursor(one)
        await one.sees("Use slate instead")
