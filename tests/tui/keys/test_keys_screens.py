"""Every key of the screens that lie over the panes: they are not in the table, but are what the user presses."""

from pathlib import Path

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
async def test_a_text_scrolls_and_closes_and_help_is_whole_beside_the_scroll_bar_however_narrow(app_world, hand):
    async with hand(size=(60, 12), panes=("pools",)) as one:
        for closing in ("escape", "q", "enter"):
            await one.press("w")
            await one.at("Reading")
            await one.press(closing)
            await one.at("Frame")
        await one.press("w")
        await one.at("Reading")
        lines = one.app.screen.query_one(Lines)
        await one.until(lambda: lines.max_scroll_y > 3)
        assert one.app.screen.query_one("Vertical").border_title.startswith("Why")
        await scrolls(one, lines)
        await one.back()

        for size in ((60, 20), (45, 20)):
            await one.pilot.resize_terminal(*size)
            await one.press("f1")
            await one.at("Help")
            shown = one.app.screen.query_one(VirtualList)
            await one.until(lambda shown=shown: shown.rows)
            await one.rest()
            room = shown.scrollable_content_region.width - GUTTER
            assert 0 < room < size[0]
            assert [] == [text for row in shown.rows if cells(text := plain(row.line)) > room]
            await one.back()


@keys("Confirm", "escape", "n", "y", "left", "h", "right", "l")
async def test_a_yes_or_no_is_answered_by_letters_and_by_arrows(empty_world, hand):
    empty_world.account("slow", ("5h", 1, 4), script="echo begun; exec sleep 60")
    empty_world.model("opus", "slow")
    async with hand(panes=("pools",), size=(80, 24)) as one:
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
@keys("CommandLine", "escape", "tab", "down", "up")
@keys("Help", "escape", "down", "up", "pagedown", "pageup")
@keys("Jump", "escape", "ctrl+o")
@keys("WhatIf", "escape", "ctrl+s", "f2")
async def test_what_lies_over_the_pools_is_walked_over_sent_or_left(app_world, hand):
    async with hand(panes=("pools", "quota"), size=(120, 30)) as one:
        await leave_a_question_and_send_prompts(one)
        await move_in_help(one)
        await leave_jump_mode(one)
        await leave_a_what_if_and_make_it_true(one)
        await take_what_the_command_line_offers(one)


async def leave_a_question_and_send_prompts(one):
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
    shots = one.app.frame.find("pools")._shots
    for count, send in enumerate(("ctrl+s", "ctrl+enter", "f2"), 1):
        await one.press("p")
        await one.at("Prompt")
        await one.type(f"w{count}")
        await one.press(send)
        await one.at("Frame")
        await one.until(lambda count=count: count == len(shots))
    await one.rest()
    await one.until(lambda: not one.app.engine.background.running)

    assert 0 == one.account("bob").wishes.reserve
    assert ["w1", "w2", "w3"] == [shot.prompt for shot in shots.values()]


async def move_in_help(one):
    """Its cursor moves while the filter has the keys."""
    await one.press("f1")
    await one.at("Help")
    rows = [row.key for row in one.app.screen.query_one(VirtualList).rows if row.is_selectable]
    for key, place in (("down", 1), ("pagedown", 11), ("up", 10), ("pageup", 0)):
        await one.press(key)
        assert rows[place] == cursor(one)
    await one.press("escape")
    await one.at("Frame")


async def leave_jump_mode(one):
    """The focus stays where it was."""
    for key in ("escape", "ctrl+o"):
        await one.press("ctrl+o")
        await one.at("Jump")
        await one.press(key)
        await one.at("Frame")
        assert "pools" == one.pane


async def leave_a_what_if_and_make_it_true(one):
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
    await one.rest()


async def take_what_the_command_line_offers(one):
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


async def test_y_writes_the_first_set_up(empty_world, hand):
    (empty_world.home / "bin").mkdir()
    (empty_world.home / ".codex").mkdir()
    (empty_world.home / ".codex/auth.json").write_text("{}")
    program = empty_world.home / "bin/codex"
    program.write_text("#!/bin/sh\ncat\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        async with hand(panes=("pools",), size=(80, 24)) as one:
            await one.press("a")
            await one.at("Review")
            await one.press("y")
            await one.until(lambda: one.app.snapshot.pool("codex") is not None)

    assert (empty_world.config / "providers.toml").exists()


@keys("SettingsScreen", "ctrl+n", "ctrl+r", "delete", "ctrl+u")
@keys("SettingsScreen", "escape", "right", "left", "down", "up", "pagedown", "pageup")
@keys("Items", "escape", "q", "a", "x", "delete", "backspace")
async def test_settings_are_left_their_lists_changed_and_brought_back_and_filtered_and_turned(app_world, hand):
    async with hand(panes=("pools",), size=(100, 30)) as one:
        rows = await open_settings(one)
        await one.press("escape")
        await one.at("Frame")
        rows = await open_settings(one)
        for key, back in (("down", "up"), ("pagedown", "pageup")):
            first = cursor(one)
            await one.press(key)
            assert first != cursor(one)
            await one.press(back)
            assert first == cursor(one)
        await change_keys_of_an_action(one, rows)
        await change_items_of_a_list(one, rows, app_world.config / "providers.toml")
        await one.type("preset")
        for key, preset in (("right", "vim"), ("right", "emacs"), ("left", "vim")):
            await one.press(key)
            await write_staged(one)
            await one.until(lambda preset=preset: one.app.options.preset == preset)

    assert 'preset = "vim"' in (app_world.config / "app.toml").read_text()


async def write_staged(one):
    """Write what the settings show."""
    await one.until(lambda: bool(one.app.screen._staged))
    await one.press("enter")
    await one.rest()


async def change_keys_of_an_action(one, rows):
    rows.go_to("key:pools.why")
    await one.press("ctrl+n")
    await one.at("KeyPress")
    await one.press("f9")
    await one.at("SettingsScreen")
    await write_staged(one)
    for key, bound in (("ctrl+r", None), ("ctrl+u", "w,f9"), ("delete", "w")):
        await one.until(lambda: type(one.app.screen).__name__ == "SettingsScreen" and not one.app.busy)
        await one.press(key)
        if key != "ctrl+u":
            await write_staged(one)
        await one.until(lambda bound=bound: getattr(one.app.keys.find("pools.why"), "keys", None) == bound)
    await one.rest()


async def change_items_of_a_list(one, rows, file):
    """The first account's arguments are taken away one by one, and another is added."""
    rows.go_to(next(row.key for row in rows.rows if plain(row.line).startswith("args ")))
    for key in ("escape", "q"):
        await one.press("enter")
        await one.at("Items")
        await one.press(key)
        await one.at("SettingsScreen")
    await one.press("enter")
    await one.at("Items")
    await one.press("x", "delete", "backspace", "a")
    await one.at("Question")
    await one.type("4")
    await one.press("enter")
    await one.at("Items")
    await one.press("escape")
    await one.at("SettingsScreen")
    await write_staged(one)
    await one.until(lambda: 'args = ["4"]' in file.read_text())


@keys("Choice", "escape", "q")
@keys("Search", "escape", "down", "up")
@keys("Export", "escape", "f2", "ctrl+s", "ctrl+o", "ctrl+r", "ctrl+t", "ctrl+k", "pagedown", "pageup", "ctrl+x")
@keys("Review", "escape", "n", "q", "y", "left", "h", "right", "l")
@keys("Review", "down", "j", "up", "k", "pagedown", "space", "ctrl+d", "pageup", "ctrl+u")
@keys("Review", "home", "g", "end", "G")
async def test_what_lies_over_the_sessions_is_walked_over_taken_or_left(sessions, talks, tmp_path):
    for number in range(30):
        talks.door.say("user", f"word {number}", minutes_ago=120)
    async with sessions(panes=("pools", "sessions"), size=(160, 30)) as one:  # wide: what is said is not cut
        await leave_a_choice(one)
        await walk_over_results_of_a_search(one)
        await choose_look_at_and_write_an_export(one, tmp_path)
        await export_to_a_folder(one, tmp_path)
        await stop_an_export(one, tmp_path)
        await scroll_refuse_and_take_a_difference(one, talks.door, tmp_path / "edited.jsonl")


async def leave_a_choice(one):
    for key in ("escape", "q"):
        await one.press("y")
        await one.at("Choice")
        await one.press(key)
        await one.at("Frame")

    assert "" == one.app.clipboard


async def walk_over_results_of_a_search(one):
    """The cursor moves while the line has the keys."""
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


async def choose_look_at_and_write_an_export(one, folder):
    for number, key in enumerate(("f2", "ctrl+s", "escape")):
        await one.press("x")
        await one.at("Export")
        await one.sees("Mend the roof please", "[redacted")
        line(one).value = str(folder / f"{number}")
        await one.press(key)
        await one.at("Frame")
        assert (key != "escape") == (folder / f"{number}").exists()
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
    size = one.app.size
    await one.pilot.resize_terminal(50, size.height)
    await one.until(lambda: max(sum(len(text) for text, _ in row) for row in preview.lines) <= 50)
    await one.pilot.resize_terminal(*size)
    await one.press("ctrl+o")
    await one.until(lambda: line(one).value.endswith(".html"))
    await one.pilot.click("#export-options", offset=(4, 0))
    await one.until(lambda: line(one).value.endswith(".jsonl"))
    await one.type("x")
    assert line(one).value.endswith(".jsonlx")
    await one.back()


async def export_to_a_folder(one, folder):
    """It lies there under its own name, and is written over only when that was asked for."""
    await one.press("x")
    await one.at("Export")
    name = Path(line(one).value).name  # the folder of the last one is proposed
    line(one).value = str(folder)
    await one.press("enter")
    await one.at("Frame")
    assert (folder / name).is_file()
    await one.press("x")
    await one.at("Export")
    line(one).value = str(folder)
    await one.press("enter")
    await one.told(f"{name} is there already: once more writes over it")
    await one.press("enter")
    await one.at("Frame")


async def stop_an_export(one, folder):
    """It takes long, ctrl+x stops it, and the dialog stays."""

    def endless(*_arguments, force):
        stopping.stop_event().wait(60)
        stopping.check()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "_write", endless)
        await one.press("x")
        await one.at("Export")
        line(one).value = str(folder / "out.md")
        await one.press("f2")
        await one.until(lambda: one.app.jobs.shown)
        await one.press("ctrl+x")
        await one.told("Stopped writing out.md")
        assert "Export" == type(one.app.screen).__name__
        assert not (folder / "out.md").exists()
        await one.back()


async def scroll_refuse_and_take_a_difference(one, door, target):
    before = door.path.read_bytes()
    one.app.engine.sessions.files.export(door.id, ExportOptions("canonical-jsonl"), target)
    target.write_text(target.read_text().replace("word", "work").replace("Paint the door", "Paint the gate"))

    async def look():
        one.app.order("session import", (door.id, str(target)))
        await one.at("Review")
        await one.until(lambda: one.app.screen.query_one("#review-body", Lines).max_scroll_y > 10)

    for no in ("escape", "n", "q"):
        await look()
        await one.press(no)
        await one.at("Frame")
    assert before == door.path.read_bytes()
    await look()
    await scrolls(one, one.app.screen.query_one("#review-body", Lines))
    assert "no" == one.app.focused.id
    for key, button in (("right", "yes"), ("left", "no"), ("l", "yes"), ("h", "no")):
        await one.press(key)
        assert button == one.app.focused.id
    await one.press("y")
    await one.until(lambda: b"Paint the gate" in door.path.read_bytes())
