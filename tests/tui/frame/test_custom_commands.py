"""Commands of the user's own: keys, menu, line, palette; what of a row they get; where they run."""

import json
from contextlib import asynccontextmanager

import pytest
from textual.widgets import Input, Static

from oulipoly_engine.config.base.app_settings import CustomCommand, fill
from oulipoly_engine.paths import from_environment
from oulipoly_tui import entry
from oulipoly_tui.keys.keymap import resolve
from oulipoly_tui.live_settings import LiveSettings
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

HOSTILE = "$(touch pwned); `touch pwned` \" ' \n & rm -rf {account} {{x}}"


def write(app_world, *commands):
    texts = []
    for one in commands:
        lines = [f"{key} = {json.dumps(value)}" for key, value in one.items()]
        texts.append("\n".join(("[[commands]]", *lines)))
    app_world.write("app.toml", "\n".join(texts) + "\n")


@pytest.fixture
def running(running):
    """Open the app with one pane as its files have it."""

    @asynccontextmanager
    async def run(size=(120, 36), **options):
        found = entry.options(from_environment(), [])
        options = {"commands": found.commands, "own_keys": found.own_keys, **options}
        async with running(size, panes=["pools"], **options) as (app, pilot):
            app.live_settings = LiveSettings(app, lambda: entry.options(from_environment(), []))
            yield app, pilot

    return run


def notes(app_world, name="note it", **more):
    """Return a command that notes the words that it is given."""
    script = f'printf "%s\\n" "$#" "$@" > {app_world.home}/{name.replace(" ", "_")}'
    return {"name": name, "command": ["sh", "-c", script, "sh", "{account}", "of {pool}"], **more}


async def noted(app_world, pilot, settled, name="note it"):
    file = app_world.home / name.replace(" ", "_")
    await settled(pilot, lambda: file.exists() and file.read_text().count("\n") >= 3)
    return file.read_text()


async def test_a_command_works_as_soon_as_it_stands_in_the_file_asks_where_that_is_wanted_and_shows_what_it_prints(
    app_world, running, settled, screen_text
):
    async with running() as (app, pilot):

        async def stand(*commands):
            write(app_world, *commands)
            await settled(
                pilot, lambda: [one["name"] for one in commands] == [one.name for one in app.options.commands]
            )

        await stand(notes(app_world, run="background", key="f9"))
        await pilot.press("f9")
        assert "2\nbob\nof mix\n" == await noted(app_world, pilot, settled)

        # Menu, help, palette and line know it.
        for keys in (("full_stop",), ("question_mark", *"note it"), ("ctrl+p", *"note it")):
            await pilot.press(*("space" if key == " " else key for key in keys))
            await settled(pilot, lambda: all(word in "\n".join(screen_text(app)) for word in ("note it", "f9")))
            await pilot.press("escape")
            await settled(pilot, lambda: app.screen is app.frame)
        (app_world.home / "note_it").unlink()
        app.order("note it")
        assert "2\nbob\nof mix\n" == await noted(app_world, pilot, settled)

        command = ["sh", "-c", 'printf "%s of %s" "$1" "$2"; exit 3', "sh", "{account}", "{pool}"]
        await stand({"name": "greet", "key": "ctrl+g", "panes": ["pools"], "run": "background", "command": command})
        await pilot.press("ctrl+g")
        await settled(pilot, lambda: type(app.screen).__name__ == "Reading")
        text = "\n".join(screen_text(app))
        assert "greet: ended with 3" in text
        assert "bob of mix" in text
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)

        await stand(notes(app_world, "asked", run="background", key="f9", confirm=True))
        for answer in ("n", "y"):
            await pilot.press("f9")
            await settled(pilot, lambda: type(app.screen).__name__ == "Confirm")
            # How long the path in it is decides where the dialog breaks the line.
            assert "bob 'of mix'" in " ".join(line.strip(" │") for line in screen_text(app))
            assert not (app_world.home / "asked").exists()
            await pilot.press(answer)
        assert "2\nbob\nof mix\n" == await noted(app_world, pilot, settled, "asked")

        # The question shows hidden characters, and the output's end is counted.
        command = ["sh", "-c", "yes | head -n 10003", "\u202ean argument\nin /another/folder"]
        await stand({"name": "flood", "key": "f9", "confirm": True, "run": "background", "command": command})
        await pilot.press("f9")
        await settled(pilot, lambda: type(app.screen).__name__ == "Confirm")
        assert any("'<U+202E>an argument␊in /another/folder'" in line for line in screen_text(app))
        await pilot.press("y")
        await settled(pilot, lambda: type(app.screen).__name__ == "Reading")
        await pilot.press("end")
        await settled(pilot, lambda: any("… 3 more lines" in line for line in screen_text(app)))
        await pilot.press("escape")
        await settled(pilot, lambda: app.screen is app.frame)

        await stand({"name": "read", "key": "f9", "command": "less {transcript}"})  # a row has not what it needs
        assert all(action.custom is None for action in app.works_now())
        await pilot.press("f9")
        await settled(pilot, lambda: any("read needs a transcript" in one.message for one in app._notifications))

        (app_world.config / "app.toml").unlink()
        await settled(pilot, lambda: not app.keys.own)


async def test_its_key_is_pressed_to_be_bound_and_may_be_taken_from_another(app_world, running, settled):
    reading = {"name": "read it", "panes": ["pools", "sessions"], "command": "true"}
    write(app_world, {"name": "broken"}, reading, notes(app_world, key="f9"))
    async with running() as (app, pilot):
        await pilot.press("comma")
        await settled(pilot, lambda: type(app.screen).__name__ == "SettingsScreen" and not app.busy)
        app.screen.query_one(VirtualList).go_to("key:commands.read it")
        for key, other in (("f9", "note it"), ("w", "pools.why")):
            await pilot.press("enter")
            await settled(pilot, lambda: type(app.screen).__name__ == "KeyPress")
            await pilot.press(key)
            await settled(pilot, lambda: bool(getattr(app.screen, "_staged", ())))
            assert other in str(app.screen.query_one(Static).render())
            await pilot.press("enter")
            await settled(pilot, lambda key=key: app.keys.own[0].keys == key and not app.busy)

    text = (app_world.config / "app.toml").read_text()
    assert 'key = "w"' in text
    assert 'key = "none"' in text
    assert '"pools.why" = "none"' in text


async def test_read_only_runs_none(app_world, running, settled):
    write(app_world, notes(app_world, run="background", key="f9"))
    async with running(read_only=True) as (app, pilot):
        await pilot.press("f9")
        await settled(pilot, lambda: any("read-only" in one.message for one in app._notifications))


def test_a_value_stays_one_word_whatever_is_in_it():
    assert ("git", f"--x={HOSTILE}", "{a}") == fill(("git", "--x={title}", "{{a}}"), {"title": HOSTILE})


@pytest.mark.parametrize("title", ["--output=/etc/passwd", "-rf", "a\0b"])
def test_a_value_that_would_be_an_option_or_no_argument_is_refused(title):
    with pytest.raises(ValueError, match="the title of this row"):
        fill(("git", "{title}"), {"title": title})


def test_one_command_for_two_panes_is_one_name_on_the_line():
    command = CustomCommand("log", ("git", "log"), "f9", ("sessions", "terminals"))

    own = resolve(commands=[command]).own
    assert ["sessions", "repl"] == [one.where for one in own]
    assert 1 == len({one.line for one in own})


async def test_a_command_is_added_changed_and_removed_in_the_settings(app_world, running, settled, screen_text):
    file = app_world.config / "app.toml"
    write(app_world, {"name": "mine", "command": "true"})
    async with running() as (app, pilot):

        async def press(*keys, screen):
            await pilot.press(*keys)
            await settled(pilot, lambda: type(app.screen).__name__ == screen and not app.busy)

        async def save():
            await settled(pilot, lambda: "enter: write it" in "\n".join(screen_text(app)))
            await press("enter", screen="SettingsScreen")

        await press("comma", screen="SettingsScreen")
        rows = app.screen.query_one(VirtualList)
        app.screen.query_one(Input).value = "add a c"
        await settled(pilot, lambda: 2 == len(rows.rows))
        rows.go_to("new command")
        await press("enter", screen="Question")
        await press(*"mine", "enter", screen="Question")
        assert "there is a command 'mine' already" in "\n".join(screen_text(app))
        await press("2", "enter", screen="Question")
        await press(*"ls {cdw}", "enter", screen="Question")
        assert "there is no placeholder {cdw}; write {cwd}" in "\n".join(screen_text(app))
        await press(*["backspace"] * 4, *"cwd}", "enter", screen="SettingsScreen")
        await save()
        await settled(pilot, lambda: [one.words for one in app.options.commands] == [("true",), ("ls", "{cwd}")])
        await settled(pilot, lambda: "mine2" in plain(rows.cursor_line))  # where its key is given
        assert "" == app.screen.query_one(Input).value
        await press("ctrl+u", screen="SettingsScreen")
        await settled(pilot, lambda: [one.name for one in app.options.commands] == ["mine"])

        def go_to(name):
            found = [one.identity for one in app.screen._by_identity.values() if one.owner == "mine"]
            rows.go_to(next(one for one in found if one.endswith(f'"{name}"]')))

        go_to("confirm")
        await press("enter", screen="SettingsScreen")
        await save()
        await settled(pilot, lambda: app.options.commands[0].confirm)
        go_to("key")
        await press("enter", screen="KeyPress")
        await press("f9", screen="SettingsScreen")
        await save()
        await settled(pilot, lambda: app.options.commands[0].key == "f9")
        await press("ctrl+r", screen="SettingsScreen")
        await save()
        await settled(pilot, lambda: not app.options.commands)
        assert "commands" not in file.read_text()
        await press("ctrl+u", screen="SettingsScreen")
        await settled(pilot, lambda: app.options.commands)

    assert CustomCommand("mine", ("true",), "f9", confirm=True) == app.options.commands[0]
