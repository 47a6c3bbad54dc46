"""Every key of the frame in the real app, those of the preset `emacs` included."""

import threading
from functools import partial

import pytest

from oulipoly_engine import stopping
from oulipoly_engine.process.liveness import is_alive
from oulipoly_tui.widgets.lines import VirtualList

keys = pytest.mark.keys


@keys("frame.pane1", "1")
@keys("frame.pane2", "2")
@keys("frame.pane3", "3")
@keys("frame.pane4", "4")
@keys("frame.pane5", "5")
@keys("frame.next", "tab")
@keys("frame.previous", "shift+tab")
@keys("frame.zoom", "z", "plus", "underscore")
@keys("frame.back", "escape")
@keys("frame.jump", "ctrl+o")
@keys("frame.quit", "q")
async def test_panes_are_gone_to_by_numbers_tab_and_letters_and_zoomed_until_q_quits(app_world, hand):
    async with hand(size=(160, 30)) as one:
        await one.walk(go_round, zoom, jump, go_by_numbers)
        await one.press("q")
        await one.until(lambda: not one.app.is_running)


async def go_by_numbers(one):
    for number, pane in (("2", "quota"), ("3", "sessions"), ("4", "transcript"), ("5", "repl"), ("1", "pools")):
        await one.press(number)
        await one.until(lambda pane=pane: one.pane == pane and one.app.frame.find(pane).has_focus_within)
        assert [pane] == [each.id for each in one.app.frame.panes if each.styles.border_title_style.bold]
        assert f"{number} " in str(one.app.frame.find(pane).border_title)


async def go_round(one):
    shown = one.app.frame.area.visible_ids()
    assert 3 < len(shown)
    for expected in (*shown[1:], shown[0]):
        await one.press("tab")
        assert expected == one.pane
    await one.press("shift+tab")
    assert shown[-1] == one.pane


async def zoom(one):
    await one.turn_to("pools")
    before = one.app.frame.area.visible_ids()
    for key in ("z", "plus", "underscore"):
        await one.press(key)
        await one.until(lambda: one.app.frame.area.visible_ids() == ("pools",))
        assert "3 Sessions" not in one.text
        await one.press("escape")
        await one.until(lambda: one.app.frame.area.visible_ids() == before)
    await one.press("z", "z")
    await one.until(lambda: one.app.frame.area.visible_ids() == before)
    await one.press("escape")
    assert one.app.is_running


async def jump(one):
    await one.press("ctrl+o")
    await one.at("Jump")
    targets = one.app.screen._targets
    letter = next(letter for letter, widget in targets.items() if widget.id == "quota-list")
    await one.sees(f" {letter} ")
    await one.press(letter)
    await one.until(lambda: one.pane == "quota" and one.app.focused.id == "quota-list")


@keys("frame.back", "ctrl+g")
@keys("frame.palette", "alt+x")
async def test_emacs_has_its_own_keys_for_back_and_for_the_palette(app_world, hand):
    async with hand(preset="emacs") as one:
        await one.press("z")
        await one.until(lambda: one.app.frame.area.zoomed)
        await one.press("ctrl+g")
        await one.until(lambda: not one.app.frame.area.zoomed)
        await one.press("alt+x")
        await one.at("CommandPalette")


@keys("frame.palette", "ctrl+p")
@keys("frame.command", "colon")
@keys("frame.help", "question_mark", "f1")
@keys("frame.settings", "comma", "f2")
@keys("frame.theme", "ctrl+t")
@keys("frame.stop", "ctrl+x")
async def test_commands_help_and_settings_open_and_ctrl_x_stops_what_takes_long(app_world, hand, tmp_path):
    pid = tmp_path / "pid"
    app_world.account("eve", extra=f"quota_script = 'echo $$ > {pid}; exec sleep 60'")
    async with hand(size=(160, 30)) as one:
        await one.walk(
            run_commands,
            read_help,
            see_what_is_of_another_pane,
            move_beneath_the_help,
            read_the_footer,
            open_settings,
            partial(stop_a_reading, pid=pid),
            choose_what_to_stop,
        )


async def run_commands(one):
    await one.press("ctrl+p")
    await one.at("CommandPalette")
    await one.type("account disable bob")
    await one.until(lambda: one.app.screen.query_one("CommandList").option_count == 1)
    await one.press("enter")
    await one.until(lambda: one.account("bob").wishes.disabled)
    await one.press("colon")
    await one.at("CommandLine")
    await one.type("account enable bob")
    await one.press("enter")
    await one.until(lambda: not one.account("bob").wishes.disabled)


async def read_help(one):
    for key in ("question_mark", "f1"):
        await one.press(key)
        await one.at("Help")
        assert "Keys" == one.title
        await one.sees("Explain the choice of an account")
        await one.back()
    await one.press("f1")
    await one.type("pools.why")
    await one.press("enter")
    await one.at("Reading")
    await one.back()


async def see_what_is_of_another_pane(one):
    """Have what the help offers of another pane shown there and not done unseen."""
    await one.turn_to("sessions")
    await one.press("f1")
    await one.type("pools.drain")
    await one.press("enter")
    await one.until(lambda: one.pane == "pools")
    await one.told("d does it here: Give an account no new work")
    assert not any(one.account(name).wishes.drained for name in ("ada", "bob", "cyd"))


async def move_beneath_the_help(one):
    """Have the help move in the list beneath."""
    before = one.app.frame.query_one("#pools-list", VirtualList).cursor_key
    await one.press("f1")
    await one.type("lists.last")
    await one.press("enter")
    await one.until(lambda: one.app.frame.query_one("#pools-list", VirtualList).cursor_key != before)


async def read_the_footer(one):
    """Have the footer under a question show its keys."""
    await one.sees("w why")
    await one.press("f1")
    await one.sees("enter OK", "esc close")
    assert "w why" not in one.text.splitlines()[-1]
    await one.back()
    await one.sees("w why")


async def open_settings(one):
    for key in ("comma", "f2"):
        await one.press(key)
        await one.at("SettingsScreen")
        assert "Settings" == one.title
        await one.sees("default_model")
        await one.back()
    before = one.app.theme
    await one.press("ctrl+t")
    await one.told("Theme light")
    assert before != one.app.theme
    assert not one.app.current_theme.dark


async def stop_a_reading(one, pid):
    """Have nothing kept of a reading that is stopped."""
    await one.press("ctrl+x")
    await one.told("nothing is under way that could be stopped")
    one.app.order("refresh", ["eve"])
    await one.sees("… reading eve", "ctrl+x stops")
    await one.until(pid.exists)
    await one.press("ctrl+x")
    await one.told("Stopped reading eve")
    await one.until(lambda: "… reading eve" not in one.text)
    assert not any("eve" in repr(trouble) for trouble in one.app.alerts.troubles())
    assert not is_alive(int(pid.read_text()))


async def choose_what_to_stop(one):
    """Have it asked which, where several things take long."""
    ended = [threading.Event() for _ in range(2)]

    def wait(number):
        while not stopping.stop_event().wait(0.01):
            pass
        ended[number].set()
        stopping.check()

    for number in range(2):
        one.app.work("wait", partial(wait, number), title=f"waiting for bus {number}", can_stop=True)
    await one.press("ctrl+x")
    await one.at("Choice")
    assert "Stop what?" == one.title
    await one.press("down", "enter")
    await one.told("Stopped waiting for bus 1")
    assert [False, True] == [event.is_set() for event in ended]
    await one.sees("… waiting for bus 0")
    await one.pilot.click("#jobs")
    await one.told("Stopped waiting for bus 0")


@keys("frame.problems", "exclamation_mark")
@keys("frame.attention", "f8", "alt+n")
@keys("Problems", "f8", "alt+n")
@keys("frame.refresh", "R")
@keys("frame.log", "f4")
@keys("CommandLogScreen", "escape", "q", "slash", "y")
@keys("frame.doctor", "f3")
@keys("Problems", "d", "f3")
@keys("DoctorScreen", "escape", "q", "R", "y")
async def test_what_is_wrong_what_wants_the_user_and_what_was_run_is_told(app_world, hand):
    bad = app_world.config / "models" / "bad.toml"
    bad.write_text("providers = 3\n")
    app_world.account("dan", extra="[dan.environment]\nPATH = '/nowhere'\n")
    async with hand(size=(80, 24)) as one:
        await one.walk(
            partial(list_what_is_wrong, bad=bad),
            read_every_account,
            go_to_what_wants_the_user,
            read_the_log,
            ask_the_doctor,
        )


async def list_what_is_wrong(one, bad):
    await one.until(lambda: one.app.alerts.troubles())
    for key in ("exclamation_mark", "f8"):
        await one.press(key)
        await one.at("Problems")
        assert "Problems" == one.title
        await one.sees("bad.toml", "→")
        await one.back()
    bad.unlink()
    await one.until(lambda: "bad.toml" not in repr(one.app.alerts.troubles()))


async def read_every_account(one):
    await one.press("R")
    await one.told("Reading every account")
    await one.told("Read 2 accounts")
    await one.until(lambda: one.account("ada").quota.windows and one.account("bob").quota.windows)
    await one.sees("94 %", "35 %")


async def go_to_what_wants_the_user(one):
    await one.until(lambda: one.app.snapshot.alerts_of("window"))
    await one.turn_to("sessions")
    await one.press("alt+n")
    await one.until(lambda: one.pane == "quota")
    await one.until(lambda: one.app.frame.query_one("#quota-list", VirtualList).cursor_key == "ada\n5h")
    for key in ("f8", "alt+n"):  # from the problems as well
        await one.turn_to("pools")
        await one.press("exclamation_mark")
        await one.at("Problems")
        await one.sees("f8 next alert")
        await one.press(key)
        await one.at("Frame")
        await one.until(lambda: one.pane == "quota")


async def read_the_log(one):
    for closing in ("escape", "q"):
        await one.press("f4")
        await one.at("CommandLogScreen")
        await one.press(closing)
        await one.at("Frame")
    await one.press("R")
    await one.rest()
    await one.press("f4")
    await one.sees("ended with 0", "sh -c", "reading", "in ")
    await one.press("slash")
    await one.type("nowhere")
    await one.sees("nothing was run that fits")
    await one.press("ctrl+u", "enter", "y")
    await one.told("Copied ")
    await one.back()


async def ask_the_doctor(one):
    for closing in ("escape", "q"):
        await one.press("f3")
        await one.at("DoctorScreen")
        await one.press(closing)
        await one.at("Frame")
    for key in ("d", "f3"):
        await one.press("exclamation_mark")
        await one.at("Problems")
        await one.press(key)
        await one.at("DoctorScreen")
        await one.sees("dan: the program 'sh' was not found")
        await one.rest()
        await one.press("y")
        await one.told("Copied command -v sh")
        before = one.app.screen._findings
        await one.press("R")
        await one.until(lambda before=before: one.app.screen._findings is not before)
        await one.rest()
        await one.back()
