"""Every key of the Sessions pane in the real app: what is listed, stored, written; what a terminal is given."""

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


@keys("sessions.filter", "slash")
@keys("frame.search", "ctrl+f")
async def test_filter_narrows_the_list_and_search_finds_what_was_said(sessions):
    async with sessions() as one:
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


@keys("sessions.find_next", "n")
@keys("sessions.find_before", "N")
async def test_n_goes_through_what_fits_the_filter_and_round_the_end(sessions):
    async with sessions() as one:
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


@keys("sessions.open", "right", "l")
@keys("sessions.close", "left", "h")
async def test_right_shows_what_lies_in_a_conversation_and_left_hides_it(sessions):
    async with sessions() as one:
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


@keys("sessions.mark", "space")
@keys("sessions.range", "v")
@keys("sessions.pin", "p")
@keys("sessions.undo", "u")
async def test_marks_ranges_and_pins_go_together_and_u_takes_the_pins_back(sessions):
    async with sessions() as one:
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


@keys("sessions.rename", "e")
@keys("sessions.note", "m")
async def test_name_and_note_are_shown_and_kept(sessions):
    async with sessions() as one:
        await one.press("e")
        await answer(one, "Name of “Mend", "attic")
        await one.until(lambda: listed(one, "attic"))
        await one.press("u")
        await one.until(lambda: listed(one, "Mend the roof"))
        await one.press("m")
        await answer(one, "Note of “Mend", "ask Bo")
        await one.told("Note kept. u: undo")

        assert "ask Bo" == one.app.engine.sessions.catalogue.find(ROOF).note


@keys("sessions.archive", "A")
@keys("sessions.restore", "B")
async def test_an_archived_transcript_comes_back_after_its_cli_deleted_it(sessions, talks):
    before = talks.roof.path.read_bytes()
    async with sessions() as one:
        await one.press("A")
        await one.told("The session is in the archive")
        talks.roof.path.unlink()
        await one.press("S")
        await one.until(lambda: "restore" in works(one))
        await one.press("B")
        await one.until(talks.roof.path.exists)

    assert before == talks.roof.path.read_bytes()


async def test_resume_and_restore_look_at_the_disk_and_not_at_the_list(sessions, talks):
    before = talks.roof.path.read_bytes()
    async with sessions() as one:
        await one.press("A")
        await one.until(lambda: one.app.frame.find("sessions").reading.board.kept)
        talks.roof.path.unlink()
        await one.press("r")
        await one.told("its transcript is gone: B restores the archive's copy")
        await one.until(lambda: listed(one, "archived"))
        talks.roof.path.write_bytes(before)
        await one.press("B")
        await one.told("its transcript is there")
        talks.roof.path.unlink()
        await one.press("B")
        await one.until(talks.roof.path.exists)

    assert before == talks.roof.path.read_bytes()


def works(one):
    return {row.method for row in one.app.works_now()}


@keys("sessions.scan", "S")
async def test_shift_s_reads_what_the_clis_have_written(sessions, talks):
    async with sessions() as one:
        talks.add("44444444-1111-4111-8111-111111111111", "/w/beta").say("user", "Water the roses")
        await one.press("S")
        await one.told("Reading transcripts")
        await one.told("new turn")  # one, unless whoever follows the files was faster
        await one.until(lambda: listed(one, "Water the roses"))


@keys("sessions.export", "x")
@keys("sessions.bundle", "b")
async def test_export_and_bundle_write_files(sessions, tmp_path):
    async with sessions() as one:
        await one.press("x")
        await one.at("Export")
        assert "Export “Mend the roof please”" == one.title
        one.app.screen.query_one("Input").value = str(tmp_path / "roof.md")
        await one.press("enter")
        await one.until((tmp_path / "roof.md").exists)
        await one.at("Frame")
        await one.press("b")
        await answer(one, "Bundle", str(tmp_path / "roof.bundle"))
        await one.told("roof.bundle")

    assert "Mend the roof please" in (tmp_path / "roof.md").read_text()
    assert (tmp_path / "roof.bundle").stat().st_size > 0


@keys("sessions.import", "i")
@keys("sessions.undo", "u")
async def test_an_edited_export_is_put_in_place_after_a_look_and_taken_back(sessions, talks, tmp_path):
    before = talks.door.path.read_bytes()
    async with sessions("Paint") as one:
        target = tmp_path / "edited.jsonl"
        one.app.engine.sessions.files.export(DOOR, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("Paint the door", "Paint the gate"))
        await one.press("i")
        await answer(one, "Import into “Paint", str(target))
        await one.at("Review")
        await one.sees("+ Paint the gate")
        await one.press("y")
        await one.told("Session replaced")
        assert b"Paint the gate" in talks.door.path.read_bytes()
        await one.press("u")
        await one.until(lambda: before == talks.door.path.read_bytes())


@keys("sessions.undo", "u")
async def test_u_offers_a_replacement_of_an_earlier_day_and_nothing_where_none_stands(sessions, talks, tmp_path):
    before = talks.door.path.read_bytes()
    async with sessions("Paint") as one:
        assert "there is nothing to undo" == one.app.reason_against(one.app.keys.find("sessions.undo"))
        target = tmp_path / "edited.jsonl"
        one.app.engine.sessions.files.export(DOOR, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("Paint the door", "Paint the gate"))
        one.app.order("session import", [DOOR, str(target)])
        await one.at("Review")
        await one.press("y")
        await one.told("Session replaced")
    async with sessions("Paint") as one:
        await one.until(lambda: one.app.reason_against(one.app.keys.find("sessions.undo")) is None)
        await one.press("u")
        await one.at("Review")
        await one.sees("+ Paint the door")
        await one.press("y")
        await one.told("Undone: session replaced")
        await one.until(
            lambda: "there is nothing to undo" == one.app.reason_against(one.app.keys.find("sessions.undo"))
        )
    assert before == talks.door.path.read_bytes()


@keys("sessions.move", "M")
@keys("sessions.undo", "u")
async def test_a_conversation_moves_to_another_account_and_back(sessions, talks):
    async with sessions("Paint") as one:
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


@keys("sessions.resume", "r")
@keys("sessions.fork", "f")
async def test_r_goes_on_in_a_terminal_and_f_in_a_new_conversation(sessions, hosts):
    async with sessions("Paint") as one:
        await one.press("r")
        await one.until(lambda: one.pane == "repl")
        await one.sees(f"hello eve --resume {DOOR[:8]}")
        await one.turn_to("sessions")
        await one.press("f")
        await one.until(lambda: one.pane == "repl")
        await one.sees(f"hello eve --fork {DOOR[:8]}")


@keys("sessions.elsewhere", "a")
async def test_a_goes_on_on_another_account(sessions, hosts):
    async with sessions("Paint") as one:
        await one.press("a")
        await one.at("Choice")
        assert "Go on with “Paint the door” where?" == one.title
        await one.press("enter")
        await one.sees(f"hello eva --resume {DOOR[:8]}")

        assert "eva" == one.app.engine.sessions.catalogue.find(DOOR).active.account


@keys("sessions.copy", "y")
async def test_y_copies_what_is_chosen(sessions):
    async with sessions() as one:
        await one.press("y")
        await one.at("Choice")
        await one.sees(f"agents repl --resume {ROOF}", "session id")
        await one.press("j", "j", "j", "enter")
        await one.until(lambda: one.app.clipboard == f"agents repl --resume {ROOF}")


@keys("sessions.sort", "s")
@keys("sessions.group", "w")
async def test_order_and_grouping_change_by_steps(sessions):
    async with sessions() as one:
        await one.sees("used ▼ · by workspace")
        assert "Paint" in one.rows("sessions")[1]
        for order in ("created", "turns"):
            await one.press("s")
            await one.sees(f"{order} ▼ · by workspace")
        await one.until(lambda: any("Mend" in row for row in one.rows("sessions")[1:2]))
        await one.press("w")
        await one.sees("by account")
        await one.until(lambda: any("eve" in row for row in one.rows("sessions")[:1]) and not listed(one, "/w/beta 1"))


@keys("sessions.sort_used", "U")
@keys("sessions.sort_created", "C")
@keys("sessions.sort_turns", "T")
@keys("sessions.sort_name", "L")
@keys("sessions.sort_account", "O")
@keys("sessions.sort_model", "D")
async def test_capitals_sort_by_a_column_and_turn_it_round(sessions):
    first = {"U": "Paint", "C": "Paint", "T": "Mend", "L": "Mend", "O": "Paint", "D": "Paint"}
    async with sessions() as one:
        await one.press("L")
        for key, expected in first.items():
            before = edge(one)
            await one.press(key)
            await one.until(lambda before=before: edge(one) != before)
            await one.until(lambda expected=expected: any(expected in row for row in one.rows("sessions")[1:2]))
            before = edge(one)
            await one.press(key)
            await one.until(lambda before=before: edge(one) != before)


def edge(one):
    return str(one.app.frame.find("sessions").border_subtitle)


@keys("sessions.views", "V")
async def test_shift_v_keeps_what_is_shown_as_a_view_and_brings_it_back(sessions):
    async with sessions() as one:
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


@keys("FailedRun", "r")
@keys("sessions.trace", "t")
async def test_enter_on_a_failed_run_says_why_it_failed_and_r_asks_again(sessions):
    async with sessions(size=(120, 40)) as one:
        engine = one.app.engine
        store = open_store(engine.paths.state_db)
        decision = '{"account":"eve","reason":"x"}'
        began = NewInvocation("u9", "talk", "eve", 0, SystemClock().now(), decision_json=decision)
        with store.write():
            row_id = invocations.begin(store, began)
            invocations.end(store, row_id, Outcome(False, 3, SystemClock().now(), "unknown"))
        store.close()
        last_words.write(engine.paths.results, "u9", "explain the roof", b"first\nkaboom in widget\n")
        await one.press("t")
        await one.until(lambda: listed(one, "talk → eve"))
        await one.press("enter")
        await one.at("FailedRun")
        await one.sees("failed: exit 3 after 0.", "prompt: explain the roof", "│ kaboom in widget", "why eve: x")
        await one.press("r")
        await one.at("Prompt")
        await one.sees("prompt talk again", "explain the roof")


@keys("FailedRun", "a")
@keys("sessions.filter", "slash")
async def test_failed_runs_are_filtered_and_one_is_asked_again_on_another_account(talks, sessions):
    talks.world.model("talk", "eve", "eva")
    async with sessions(size=(120, 40)) as one:
        engine = one.app.engine
        store = open_store(engine.paths.state_db)
        at = SystemClock().now()
        with store.write():
            for uuid, outcome in (("u8", Outcome(True, 0, at)), ("u9", Outcome(False, 3, at, "unknown"))):
                row_id = invocations.begin(store, NewInvocation(uuid, "talk", "eve", 0, at))
                invocations.end(store, row_id, outcome)
        store.close()
        last_words.write(engine.paths.results, "u9", "explain the roof", b"kaboom\n")
        await one.press("t")
        await one.until(lambda: edge(one) == "trace of 2 runs")
        await one.press("slash")
        await one.type("is:failed")
        await one.until(lambda: edge(one) == "trace · filter: is:failed (1 of 2 runs)")
        await one.press("enter", "enter")
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
