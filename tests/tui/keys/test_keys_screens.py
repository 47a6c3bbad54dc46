"""Every key of the screens that lie over the panes: they are not in the table, but are what the user presses."""

import pytest
from textual.widgets import Input

from oulipoly_engine import stopping
from oulipoly_engine.facade.sessions.values import ExportOptions
from oulipoly_engine.paths import from_environment
from oulipoly_tui import entry
from oulipoly_tui.live_settings import LiveSettings
from oulipoly_tui.screens.sessions import export
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.widgets.lines import GUTTER, Lines, VirtualList

keys = pytest.mark.keys


def cursor(one):
    return one.app.screen.query_one(VirtualList).cursor_key


async def open_settings(one):
    """Open the settings of an app that follows its files."""
    one.app.live_settings = LiveSettings(one.app, lambda: entry.options(from_environment(), []))
    await one.press("comma")
    await one.at("SettingsScreen")
    await one.rest()
    return one.app.screen.query_one(VirtualList)


def line(one):
    return one.app.screen.query_one(Input)


async def scrolls(one, lines):
    """See to it that the keys of a text scroll it: by one, by ten, to its end and to its top."""
    last = lines.max_scroll_y
    for key, expected in (
        *(("down", 1), ("j", 2), ("up", 1), ("k", 0)),
        *(("pagedown", 10), ("pageup", 0), ("ctrl+d", 10), ("ctrl+u", 0), ("space", 10)),
        *(("home", 0), ("end", last), ("g", 0), ("G", last)),
    ):
        await one.press(key)
        await one.until(lambda expected=expected: lines.scroll_offset.y == min(expected, last))


@keys("Reading", "escape", "q", "enter")
@keys("Reading", "down", "j", "up", "k", "pagedown", "space", "ctrl+d", "pageup", "ctrl+u", "home", "g", "end", "G")
async def test_a_text_scrolls_and_closes(app_world, hand):
    async with hand(size=(60, 12)) as one:
        for closing in ("escape", "q", "enter"):
            await one.press("w")
            await one.at("Reading")
            await one.press(closing)
            await one.at("Frame")
        await one.press("w")
        await one.at("Reading")
        shown = one.app.screen.query_one("Vertical")
        lines = one.app.screen.query_one(Lines)
        await one.until(lambda: lines.max_scroll_y > 3)
        assert shown.border_title.startswith("Why")
        await scrolls(one, lines)


@keys("Confirm", "escape", "n", "y", "left", "h", "right", "l")
async def test_a_yes_or_no_is_answered_by_letters_and_by_arrows(empty_world, hand):
    empty_world.account("slow", ("5h", 1, 4), script="echo begun; exec sleep 60")
    empty_world.model("opus", "slow")
    async with hand() as one:
        one.app.order("prompt", ("opus", "hello"))
        await one.until(lambda: one.app.frame.current.reason_to_stay() is not None)
        for no in ("escape", "n"):
            await one.press("q")
            await one.at("Confirm")
            assert "Quit?" == one.title
            await one.press(no)
            await one.at("Frame")
        await one.press("q")
        await one.at("Confirm")
        assert "no" == one.app.focused.id
        for key, button in (("right", "yes"), ("left", "no"), ("l", "yes"), ("h", "no")):
            await one.press(key)
            assert button == one.app.focused.id
        one.app.engine.close()
        await one.until(lambda: not one.app.engine.background.running)
        await one.press("y")
        await one.until(lambda: not one.app.is_running)


@keys("Question", "escape")
@keys("Prompt", "escape", "ctrl+s", "ctrl+enter", "f2")
async def test_a_question_and_a_prompt_are_left_without_an_answer_or_sent(app_world, hand):
    async with hand() as one:
        await one.choose("pools", "bob")
        await one.press("e")
        await one.at("Question")
        await one.type("3")
        await one.back()
        await one.press("p")
        await one.at("Prompt")
        await one.type("never sent")
        await one.press("escape")
        await one.at("Frame")
        for count, send in enumerate(("ctrl+s", "ctrl+enter", "f2"), 1):
            await one.press("p")
            await one.at("Prompt")
            await one.type(f"words{count}")
            await one.press(send)
            await one.at("Frame")
            await one.until(lambda count=count: count == len(one.app.frame.find("pools")._shots))
        await one.rest()
        await one.until(lambda: not one.app.engine.background.running)

        assert 0 == one.account("bob").wishes.reserve
        assert ["words1", "words2", "words3"] == [shot.prompt for shot in one.app.frame.find("pools")._shots.values()]


@keys("Choice", "escape", "q")
async def test_a_choice_is_left_without_one(sessions):
    async with sessions() as one:
        for key in ("escape", "q"):
            await one.press("y")
            await one.at("Choice")
            await one.press(key)
            await one.at("Frame")

        assert "" == one.app.clipboard


@keys("CommandLine", "escape", "tab", "down", "up")
async def test_the_command_line_offers_and_takes(app_world, hand):
    async with hand() as one:
        await one.press("colon")
        await one.at("CommandLine")
        await one.type("account d")
        await one.press("down")
        assert "account disable " == cursor(one)
        await one.press("up")
        assert "account drain " == cursor(one)
        await one.press("tab")
        assert "account drain " == line(one).value
        await one.press("tab", "enter")
        await one.until(lambda: one.account("ada").wishes.drained)
        await one.press("colon")
        await one.type("quit")
        await one.press("escape")
        await one.at("Frame")
        assert one.app.is_running


@keys("Help", "escape", "down", "up", "pagedown", "pageup")
async def test_help_moves_while_the_filter_has_the_keys(app_world, hand):
    async with hand() as one:
        await one.press("f1")
        await one.at("Help")
        rows = [row.key for row in one.app.screen.query_one(VirtualList).rows if row.is_selectable]
        for key, place in (("down", 1), ("pagedown", 11), ("up", 10), ("pageup", 0)):
            await one.press(key)
            assert rows[place] == cursor(one)
        await one.press("escape")
        await one.at("Frame")


async def test_help_shows_its_sentences_to_the_last_letter_beside_the_scroll_bar(app_world, hand):
    for size in ((60, 20), (45, 20)):
        async with hand(size=size) as one:
            await one.press("f1")
            await one.at("Help")
            shown = one.app.screen.query_one(VirtualList)
            await one.until(lambda shown=shown: shown.rows)
            await one.rest()

            room = shown.scrollable_content_region.width - GUTTER
            assert [] == [text for row in shown.rows if cells(text := plain(row.line)) > room]


@keys("Jump", "escape", "ctrl+o")
async def test_jump_mode_is_left_where_the_focus_was(app_world, hand):
    async with hand(size=(200, 50)) as one:
        for key in ("escape", "ctrl+o"):
            await one.press("ctrl+o")
            await one.at("Jump")
            await one.press(key)
            await one.at("Frame")
            assert "pools" == one.pane


@keys("WhatIf", "escape", "ctrl+s", "f2")
async def test_a_what_if_is_left_or_made_true(app_world, hand):
    async with hand() as one:
        for key, drained in (("escape", False), ("ctrl+s", True)):
            await one.choose("pools", "ada")
            await one.press("W")
            await one.at("WhatIf")
            line(one).value = "drain=ada"
            await one.sees("bob")
            await one.press(key)
            await one.at("Frame")
            await one.rest()
            await one.until(lambda drained=drained: one.account("ada").wishes.drained == drained)
        await one.press("W")
        await one.at("WhatIf")
        line(one).value = "undrain=ada"
        await one.press("f2")
        await one.until(lambda: not one.account("ada").wishes.drained)


async def test_y_writes_the_first_set_up(empty_world, hand):
    (empty_world.home / "bin").mkdir()
    (empty_world.home / ".codex").mkdir()
    (empty_world.home / ".codex/auth.json").write_text("{}")
    program = empty_world.home / "bin/codex"
    program.write_text("#!/bin/sh\ncat\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        async with hand() as one:
            await one.press("a")
            await one.at("Review")
            await one.press("y")
            await one.until(lambda: one.app.snapshot.pool("codex") is not None)

    assert (empty_world.config / "providers.toml").exists()


@keys("SettingsScreen", "a", "x", "backspace", "delete", "u")
async def test_keys_of_an_action_are_added_taken_away_and_brought_back(app_world, hand):
    async with hand() as one:
        (await open_settings(one)).go_to("key:pools.why")
        await one.press("a")
        await one.at("KeyPress")
        await one.press("f9")
        for key, bound in (("x", None), ("u", "w,f9"), ("backspace", "w"), ("u", "w,f9"), ("delete", "w")):
            await one.until(lambda: type(one.app.screen).__name__ == "SettingsScreen" and not one.app.busy)
            await one.press(key)
            await one.until(lambda bound=bound: getattr(one.app.keys.find("pools.why"), "keys", None) == bound)


@keys("Items", "escape", "q", "a", "x", "delete", "backspace")
async def test_items_of_a_list_are_added_and_taken_away(app_world, hand):
    app_world.write("providers.toml", '[ada]\ncommand = "sh"\nargs = ["1", "2", "3"]\n')
    file = app_world.config / "providers.toml"
    async with hand() as one:
        rows = await open_settings(one)
        rows.go_to(next(row.key for row in rows.rows if plain(row.line).startswith("args ")))
        for key in ("escape", "q"):
            await one.press("enter")
            await one.at("Items")
            await one.press(key)
            await one.at("SettingsScreen")
        await one.press("enter")
        await one.at("Items")
        for key, left in (("x", '["2", "3"]'), ("delete", '["3"]'), ("backspace", "[]")):
            await one.press(key)
            await one.until(lambda left=left: f"args = {left}" in file.read_text())
        await one.press("a")
        await one.at("Question")
        await one.type("4")
        await one.press("enter")
        await one.until(lambda: 'args = ["4"]' in file.read_text())
        await one.rest()


@keys("SettingsScreen", "escape", "q", "slash", "right", "l", "space", "left", "h")
async def test_settings_are_filtered_turned_and_left(app_world, hand):
    async with hand() as one:
        for key in ("escape", "q"):
            await open_settings(one)
            await one.press(key)
            await one.at("Frame")
        await open_settings(one)
        await one.press("slash")
        await one.type("preset")
        await one.press("enter")
        for key, preset in (("right", "vim"), ("l", "emacs"), ("space", "default"), ("left", "emacs"), ("h", "vim")):
            await one.press(key)
            await one.rest()
            await one.until(lambda preset=preset: one.app.options.preset == preset)

    assert 'preset = "vim"' in (app_world.config / "app.toml").read_text()


@keys("Search", "escape", "down", "up")
async def test_results_of_a_search_are_walked_over_while_it_is_typed(sessions):
    async with sessions() as one:
        await one.press("ctrl+f")
        await one.at("Search")
        await one.type("nail")
        await one.sees("3 turns, the newest first")
        rows = [row.key for row in one.app.screen.query_one(VirtualList).rows if row.is_selectable]
        for key, place in (("down", 1), ("down", 2), ("up", 1)):
            await one.press(key)
            assert rows[place] == cursor(one)
        await one.press("escape")
        await one.at("Frame")


@keys("Export", "escape", "f2", "ctrl+s", "ctrl+o", "ctrl+r", "ctrl+t", "ctrl+k", "pagedown", "pageup")
async def test_an_export_is_chosen_looked_at_and_written(sessions, tmp_path):
    async with sessions() as one:
        for number, key in enumerate(("f2", "ctrl+s", "escape")):
            await one.press("x")
            await one.at("Export")
            await one.sees("Mend the roof please", "[redacted")
            line(one).value = str(tmp_path / f"{number}")
            await one.press(key)
            await one.at("Frame")
            assert (key != "escape") == (tmp_path / f"{number}").exists()
        await one.press("x")
        await one.at("Export")
        assert line(one).value.endswith(".md")
        await one.press("ctrl+r")
        await one.sees("sk-ant-api03")
        await one.press("ctrl+t")
        await one.sees("tile-one")
        await one.press("ctrl+k")
        await one.sees("The red ones.")
        preview = one.app.screen.query_one("#export-preview")
        await one.press("pagedown")
        await one.until(lambda: preview.scroll_offset.y == min(10, preview.max_scroll_y) > 0)
        await one.press("pageup")
        await one.until(lambda: preview.scroll_offset.y == 0)
        await one.press("ctrl+o")
        await one.until(lambda: line(one).value.endswith(".html"))
        await one.pilot.click("#export-options", offset=(4, 0))
        await one.until(lambda: line(one).value.endswith(".jsonl"))
        await one.type("x")
        assert line(one).value.endswith(".jsonlx")


async def test_an_export_to_a_folder_lies_there_under_its_own_name(sessions, tmp_path):
    async def export_to_the_folder(one):
        await one.press("x")
        await one.at("Export")
        name = line(one).value
        line(one).value = str(tmp_path)
        await one.press("enter")
        return name

    async with sessions() as one:
        name = await export_to_the_folder(one)
        await one.at("Frame")
        assert (tmp_path / name).is_file()
        await export_to_the_folder(one)
        await one.told(f"{name} is there already: once more writes over it")
        await one.press("enter")
        await one.at("Frame")


@keys("Export", "ctrl+x")
async def test_an_export_that_takes_long_is_stopped_and_its_dialog_stays(sessions, monkeypatch, tmp_path):
    def endless(*_arguments, force):
        stopping.stop_event().wait(20)
        stopping.check()

    monkeypatch.setattr(export, "_write", endless)
    async with sessions() as one:
        await one.press("x")
        await one.at("Export")
        line(one).value = str(tmp_path / "out.md")
        await one.press("f2")
        await one.until(lambda: one.app.jobs.shown)
        await one.press("ctrl+x")
        await one.told("Stopped writing out.md")
        assert "Export" == type(one.app.screen).__name__
        assert not (tmp_path / "out.md").exists()


@keys("Review", "escape", "n", "q", "y", "left", "h", "right", "l")
@keys("Review", "down", "j", "up", "k", "pagedown", "space", "ctrl+d", "pageup", "ctrl+u")
@keys("Review", "home", "g", "end", "G")
async def test_a_difference_is_scrolled_refused_and_taken(sessions, talks, tmp_path):
    for number in range(12):
        talks.door.say("user", f"word {number}", minutes_ago=4)
    before, target = talks.door.path.read_bytes(), tmp_path / "edited.jsonl"
    async with sessions("Paint", size=(100, 24)) as one:
        one.app.engine.sessions.files.export(talks.door.id, ExportOptions("canonical-jsonl"), target)
        target.write_text(target.read_text().replace("word", "work").replace("Paint the door", "Paint the gate"))

        async def look():
            one.app.order("session import", (talks.door.id, str(target)))
            await one.at("Review")
            await one.until(lambda: one.app.screen.query_one("#review-body", Lines).max_scroll_y > 10)

        for no in ("escape", "n", "q"):
            await look()
            await one.press(no)
            await one.at("Frame")
        assert before == talks.door.path.read_bytes()
        await look()
        await scrolls(one, one.app.screen.query_one("#review-body", Lines))
        assert "no" == one.app.focused.id
        for key, button in (("right", "yes"), ("left", "no"), ("l", "yes"), ("h", "no")):
            await one.press(key)
            assert button == one.app.focused.id
        await one.press("y")
        await one.until(lambda: b"Paint the gate" in talks.door.path.read_bytes())
