"""The line for commands: names cut short, and what becomes of one that is refused."""

from functools import partial

import pytest
from textual.widgets import Input

from oulipoly_tui.orders import line


@pytest.fixture
def running(running):
    """Open the app with one pane: the line is the same in all."""
    return partial(running, size=(100, 30), panes=["pools"])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (":resume 9e69", ("session resume", ["9e69"])),
        ("move 9e69 bob", ("session move", ["9e69", "bob"])),
        ("drain bob", ("account drain", ["bob"])),
        ("archive all", ("session archive all", [])),
        ("pin opus bob", ("pin", ["opus", "bob"])),
        ("session resume 9e69", ("session resume", ["9e69"])),
        ("all", ("all", [])),
    ],
)
def test_a_command_s_last_word_is_enough_where_no_other_has_it(typed, expected):
    assert expected == line.split(typed)


async def test_a_refused_command_comes_back_as_it_was_typed_and_no_toast_covers_what_is_wrong_or_offered(
    app_world, running, settled, screen_text
):
    async with running(size=(80, 24), toasts=True) as (app, pilot):
        assert "'undo' may be 'setup undo' or 'session undo'" == line.run(app, "undo", [])

        await pilot.press("colon", *"drainn bob", "enter")
        await settled(pilot, lambda: any("there is no command 'drainn'" in line for line in screen_text(app)))
        assert "drainn bob" == app.screen.query_one(Input).value
        await pilot.press("home", "delete", "d", *["right"] * 4, "delete", "enter")
        await settled(pilot, lambda: app.snapshot.account("bob").wishes.drained and app.screen is app.frame)

        app.clear_notifications()
        app.say("something that is said at the same time", severity="warning")
        await pilot.press("colon", *"zzz", "enter")
        await settled(pilot, lambda: any("there is no command 'zzz'" in line for line in screen_text(app)))
        await settled(pilot, lambda: any("at the same time" in line for line in screen_text(app)))
        await pilot.press("ctrl+u", "s")
        await settled(pilot, lambda: len([line for line in screen_text(app) if "session " in line]) > 4)

        shown = screen_text(app)
        said = next(number for number, line in enumerate(shown) if "at the same time" in line)
        assert said < min(number for number, line in enumerate(shown) if "no command 'zzz'" in line)


def test_a_last_word_is_completed_to_the_whole_command():
    assert "account drain " in line.completions("dra", None)
