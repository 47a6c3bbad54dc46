"""Every key of the Sessions pane in the real app: what is listed, stored, written; what a terminal is given."""

from functools import partial

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.service.runs import last_words
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.invocations import NewInvocation
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys
ROOF, DOOR = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "12")


def listed(one, words):
    """Tell whether a row shows some words."""
    return any(words in row for row in one.rows("sessions"))


async def answer(one, title, text):
    """Answer a question with a text in the place of the one that is offered."""
    await one.at("Question")
    assert title in one.title
    one.app.screen.query_one("Input").value = text
    await one.press("enter")
    await one.until(lambda: type(one.app.screen).__name__ != "Question")


def edge(one):
    return str(one.app.frame.find("sessions").border_subtitle)


def works(one):
    return {row.method for row in one.app.works_now()}


@keys("sessions.sort", "s")
@keys("sessions.group", "w")
@keys("sessions.sort_used", "U")
@keys("sessions.sort_created", "C")
@keys("sessions.sort_turns", "T")
@keys("sessions.sort_name", "L")
@keys("sessions.sort_account", "O")
@keys("sessions.sort_model", "D")
@keys("sessions.open", "right", "l")
@keys("sessions.close", "left", "h")
@keys("sessions.copy", "y")
@keys("sessions.views", "V")
@keys("sessions.find_next", "n")
@keys("sessions.find_before", "N")
@keys("sessions.filter", "slash")
@keys("frame.search", "ctrl+f")
async def test_the_list_is_sorted_grouped_opened_copied_kept_as_a_view_filtered_and_searched(sessions):
    async with sessions() as one:
        await one.walk(
            change_order_and_grouping,
            sort_by_a_column,
            keep_a_view,
            show_what_lies_within,
            copy,
            go_through_what_fits,
            filter_and_search,
        )


async def change_order_and_grouping(one):
    await one.sees("used ▼ · by workspace")
    assert "Paint" in one.rows("sessions")[1]
    for order in ("created", "turns"):
        await one.press("s")
        await one.sees(f"{order} ▼ · by workspace")
    await one.until(lambda: any("Mend" in row for row in one.rows("sessions")[1:2]))
    await one.press("w")
    await one.sees("by account")
    await one.until(lambda: any("eve" in row for row in one.rows("sessions")[:1]) and not listed(one, "/w/beta 1"))


async def sort_by_a_column(one):
    first = {"U": "Paint", "C": "Paint", "T": "Mend", "L": "Mend", "O": "Paint", "D": "Paint"}
    await one.press("L")
    for key, expected in first.items():
        before = edge(one)
        await one.press(key)
        await one.until(lambda before=before: edge(one) != before)
        await one.until(lambda expected=expected: any(expected in row for row in one.rows("sessions")[1:2]))
        before = edge(one)
        await one.press(key)
        await one.until(lambda before=before: edge(one) != before)


async def keep_a_view(one):
    await one.press("T", "V")
    await one.at("Choice")
    assert "Views" == one.title
    await one.press("enter")
    await answer(one, "Keep this view", "longest")
    await one.told("View longest saved. u: undo")
    await one.press("L")
    await one.misses("turns ▼")
    await one.press("V")
    await one.at("Choice")
    await one.sees("longest")
    await one.press("home", "enter")
    await one.sees("turns ▼")
    await one.until(lambda: one.app.frame.find("sessions").order.view_name == "longest")


async def show_what_lies_within(one):
    for show, hide in (("right", "left"), ("l", "h")):
        await one.choose("sessions", "Mend")
        await one.press(show)
        await one.until(lambda: listed(one, "segment eve") and listed(one, "abc"))
        await one.press(hide)
        await one.until(lambda: not listed(one, "segment eve"))
        await one.press(hide)  # to the heading
        await one.press(hide)
        await one.until(lambda: not listed(one, "Mend"))
        await one.press(show)
        await one.until(lambda: listed(one, "Mend"))


async def copy(one):
    await one.choose("sessions", "Mend")
    await one.press("y")
    await one.at("Choice")
    await one.sees(f"agents repl --resume {ROOF}", "session id")
    await one.press("j", "j", "j", "enter")
    await one.until(lambda: one.app.clipboard == f"agents repl --resume {ROOF}")


async def go_through_what_fits(one):
    for key in ("n", "N"):
        await one.press(key)
        await one.told("nothing is looked for")
    await one.press("slash")
    await one.type("the")
    await one.press("enter")
    rows = one.app.frame.query_one("#sessions-list", VirtualList)
    await one.until(lambda: listed(one, "Mend") and listed(one, "Paint"))
    first = rows.cursor_key
    await one.press("n")
    second = rows.cursor_key
    await one.press("N")
    assert first == rows.cursor_key != second
    assert {"c"} == {key.partition(":")[0] for key in (first, second)}


async def filter_and_search(one):
    await one.press("slash")
    await one.type("door")
    await one.until(lambda: not listed(one, "Mend") and listed(one, "Paint"))
    await one.sees("filter: door (1 of 2)")
    footer = one.app.frame.query_one("#footer")
    await one.until(lambda: ["field.submit", "field.leave"] == [hint.id for hint in footer.hints])
    await one.press("escape")
    await one.until(lambda: listed(one, "Mend"))
    await one.turn_to("quota")
    await one.press("ctrl+f")
    await one.at("Search")
    assert "Search everything" == one.title
    await one.type("Green")
    await one.sees("1 turn, the newest first")
    await one.press("enter")
    await one.until(lambda: one.pane == "transcript")
    await one.sees("Green it is.", "4 Transcript · Paint the door")


@keys("sessions.mark", "space")
@keys("sessions.range", "v")
@keys("sessions.pin", "p")
@keys("sessions.undo", "u")
@keys("sessions.rename", "e")
@keys("sessions.note", "m")
@keys("sessions.scan", "S")
@keys("sessions.export", "x")
@keys("sessions.bundle", "b")
@keys("sessions.archive", "A")
@keys("sessions.restore", "B")
async def test_sessions_are_named_noted_exported_archived_restored_marked_pinned_and_read_anew(
    sessions, talks, tmp_path
):
    async with sessions() as one:
        await one.walk(
            name_and_note,
            partial(export_and_bundle, folder=tmp_path),
            partial(look_at_the_disk, roof=talks.roof),
            partial(restore, roof=talks.roof),
            mark_and_pin,
            partial(scan, talks=talks),
        )


async def mark_and_pin(one):
    await one.choose("sessions", "Mend")
    await one.press("space")
    await one.sees("1 marked")
    await one.choose("sessions", "Mend")
    await one.press("space")
    await one.misses("marked")
    await one.choose("sessions", "Paint")
    await one.press("v", "j", "j", "v")
    await one.sees("2 marked")
    await one.press("p")
    await one.told("2 sessions pinned. u: undo")
    await one.until(lambda: 2 == sum("pinned" in row for row in one.rows("sessions")))
    await one.press("u")
    await one.until(lambda: not listed(one, "pinned"))


async def name_and_note(one):
    await one.press("e")
    await answer(one, "Name of “Mend", "attic")
    await one.until(lambda: listed(one, "attic"))
    await one.press("u")
    await one.until(lambda: listed(one, "Mend the roof"))
    await one.press("m")
    await answer(one, "Note of “Mend", "ask Bo")
    await one.told("Note kept. u: undo")

    assert "ask Bo" == one.app.engine.sessions.catalogue.find(ROOF).note


async def export_and_bundle(one, folder):
    await one.press("x")
    await one.at("Export")
    assert "Export “Mend the roof please”" == one.title
    one.app.screen.query_one("Input").value = str(folder / "roof.md")
    await one.press("enter")
    await one.until((folder / "roof.md").exists)
    await one.at("Frame")
    await one.press("b")
    await answer(one, "Bundle", str(folder / "roof.bundle"))
    await one.told("roof.bundle")

    assert "Mend the roof please" in (folder / "roof.md").read_text()
    assert (folder / "roof.bundle").stat().st_size > 0


async def scan(one, talks):
    talks.add("44444444-1111-4111-8111-111111111111", "/w/beta").say("user", "Water the roses")
    await one.press("S")
    await one.told("Reading transcripts")
    await one.told("new turn")  # one, unless whoever follows the files was faster
    await one.until(lambda: listed(one, "Water the roses"))


async def look_at_the_disk(one, roof):
    before = roof.path.read_bytes()
    await one.press("A")
    await one.until(lambda: one.app.frame.find("sessions").reading.board.kept)
    roof.path.unlink()
    await one.press("r")
    await one.told("its transcript is gone: B restores the archive's copy")
    await one.until(lambda: listed(one, "archived"))
    roof.path.write_bytes(before)
    await one.press("B")
    await one.told("its transcript is there")
    roof.path.unlink()
    await one.press("B")
    await one.until(roof.path.exists)

    assert before == roof.path.read_bytes()


async def restore(one, roof):
    before = roof.path.read_bytes()
    await one.press("A")
    await one.told("The session is in the archive")
    roof.path.unlink()
    await one.press("S")
    await one.until(lambda: "restore" in works(one))
    await one.press("B")
    await one.until(roof.path.exists)

    assert before == roof.path.read_bytes()


@keys("sessions.import", "i")
@keys("sessions.undo", "u")
@keys("sessions.move", "M")
@keys("sessions.elsewhere", "a")
async def test_a_move_and_an_import_are_taken_back_even_on_a_later_day_and_a_goes_on_elsewhere(
    sessions, talks, hosts, tmp_path
):
    before = talks.door.path.read_bytes()
    target = tmp_path / "edited.jsonl"
    async with sessions("Paint") as one:
        assert "there is nothing to undo" == reason_against_undo(one)
        await one.walk(move)
        one.app.engine.sessions.files.export(DOOR, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("Paint the door", "Paint the gate"))
        await one.walk(partial(replace, target=target))
        assert b"Paint the gate" in talks.door.path.read_bytes()
        await one.press("u")
        await one.until(lambda: before == talks.door.path.read_bytes())
        await one.walk(partial(replace, target=target))
    async with sessions("Paint") as one:
        await one.until(lambda: reason_against_undo(one) is None)
        await one.press("u")
        await one.at("Review")
        await one.sees("+ Paint the door")
        await one.press("y")
        await one.told("Undone: session replaced")
        await one.until(lambda: "there is nothing to undo" == reason_against_undo(one))
        assert before == talks.door.path.read_bytes()
        await one.walk(go_on_elsewhere)


def reason_against_undo(one):
    return one.app.reason_against(one.app.keys.find("sessions.undo"))


async def replace(one, target):
    """Import a file."""
    await one.press("i")
    await answer(one, "Import into “Paint", str(target))
    await one.at("Review")
    await one.sees("+ Paint the gate")
    await one.press("y")
    await one.told("Session replaced")


async def move(one):
    await one.press("M")
    await one.at("Choice")
    assert "Move “Paint the door” where?" == one.title
    await one.press("enter")
    await one.at("Confirm")
    await one.sees("Move “Paint the door”?", "From eve to eva")
    await one.press("enter")
    await one.told("moved to eva")
    assert "eva" == one.app.engine.sessions.catalogue.find(DOOR).active.account
    await one.press("u")
    await one.until(lambda: "eve" == one.app.engine.sessions.catalogue.find(DOOR).active.account)


async def go_on_elsewhere(one):
    await one.choose("sessions", "Mend")
    await one.press("a")
    await one.at("Choice")
    assert "Go on with “Mend the roof please” where?" == one.title
    await one.press("enter")
    await one.sees(f"hello eva --resume {ROOF[:8]}")

    assert "eva" == one.app.engine.sessions.catalogue.find(ROOF).active.account


@keys("sessions.resume", "r")
@keys("sessions.fork", "f")
@keys("transcript.resume", "r")
@keys("transcript.fork", "f")
async def test_r_goes_on_in_a_terminal_and_f_in_a_new_session_from_the_list_and_from_the_transcript(sessions, hosts):
    async with sessions("Paint") as one:
        await go_on_and_fork(one, "sessions", DOOR)
        await one.choose("sessions", "Mend")
        await one.press("enter")
        await one.until(lambda: one.pane == "transcript")
        await one.choose("sessions", "Paint")  # while the other one stays open
        await one.sees("4 Transcript · Mend the roof please")
        await go_on_and_fork(one, "transcript", ROOF)


async def go_on_and_fork(one, pane, session_id):
    for key, how in (("r", "resume"), ("f", "fork")):
        await one.press(key)
        await one.until(lambda: one.pane == "repl")
        await one.sees(f"hello eve --{how} {session_id[:8]}")
        await one.turn_to(pane)


@keys("FailedRun", "r")
@keys("sessions.trace", "t")
@keys("FailedRun", "a")
@keys("sessions.filter", "slash")
async def test_failed_runs_are_filtered_say_why_and_are_asked_again_here_or_on_another_account(talks, sessions):
    talks.world.model("talk", "eve", "eva")
    async with sessions(size=(120, 40)) as one:
        engine = one.app.engine
        store = open_store(engine.paths.state_db)
        at = SystemClock().now()
        decision = '{"account":"eve","reason":"x"}'
        with store.write():
            for uuid, outcome in (("u8", Outcome(True, 0, at)), ("u9", Outcome(False, 3, at, "unknown"))):
                row_id = invocations.begin(store, NewInvocation(uuid, "talk", "eve", 0, at, decision_json=decision))
                invocations.end(store, row_id, outcome)
        store.close()
        last_words.write(engine.paths.results, "u9", "explain the roof", b"first\nkaboom in widget\n")
        await one.press("t")
        await one.until(lambda: edge(one) == "trace of 2 runs")
        assert listed(one, "talk → eve")
        await one.press("slash")
        await one.type("is:failed")
        await one.until(lambda: edge(one) == "trace · filter: is:failed (1 of 2 runs)")
        await one.press("enter", "enter")
        await one.at("FailedRun")
        await one.sees("failed: exit 3 after 0.", "prompt: explain the roof", "│ kaboom in widget", "why eve: x")
        await one.press("r")
        await one.at("Prompt")
        await one.sees("prompt talk again", "explain the roof")
        await one.back()
        await one.press("enter")
        await one.at("FailedRun")
        await one.press("a")
        await one.at("Choice")
        await one.sees("eva")
        assert "talk again on which account?" == one.title
        await one.press("enter")
        await one.at("Prompt")
        await one.sees("prompt talk again on eva", "explain the roof")
        await one.press("ctrl+s")
        await one.until(
            lambda: (
                [("eva", "talk")] == [(run.account, run.model) for run in engine.sessions.catalogue.list_spawned()[:-2]]
            )
        )
        await one.turn_to("sessions")
        await one.until(lambda: edge(one) == "trace · filter: is:failed (1 of 3 runs)")
        await one.press("t")
        await one.until(lambda: listed(one, "Mend"))
