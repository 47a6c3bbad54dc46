"""The settings' screen: values with their sources, changes that are checked, kept and take hold."""

from contextlib import asynccontextmanager

import pytest
from textual.widgets import Input

from oulipoly_engine.config.edit import settings_edit
from oulipoly_engine.paths import Above, Paths, from_environment
from oulipoly_tui import entry
from oulipoly_tui.keys.keymap import resolve
from oulipoly_tui.live_settings import LiveSettings
from oulipoly_tui.view.frame.settings import clash_text, describe_setting, format_setting_rows
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList


@pytest.fixture
def running(running):
    """Open the app with one pane, which follows its files."""

    @asynccontextmanager
    async def run(size, **options):
        async with running(size, panes=["pools"], **options) as (app, pilot):
            app.live_settings = LiveSettings(app, lambda: entry.options(from_environment(), []))
            yield app, pilot

    return run


async def opened(app, pilot, settled, key="comma"):
    await pilot.press(key)
    await settled(pilot, lambda: type(app.screen).__name__ == "SettingsScreen" and not app.busy)
    return app.screen.query_one(VirtualList)


def go_to(rows, name):
    rows.go_to(next(row.key for row in rows.rows if plain(row.line).startswith(f"{name} ")))


async def press(app, pilot, settled, *keys, screen="SettingsScreen"):
    """Press keys, and wait for the screen that they lead to."""
    await pilot.press(*keys)
    await settled(pilot, lambda: type(app.screen).__name__ == screen and not app.busy)


async def change(app, pilot, settled, rows, name, typed):
    go_to(rows, name)
    await press(app, pilot, settled, "enter", screen="Question")
    app.screen.query_one(Input).value = typed
    await pilot.press("enter")
    await settled(pilot, lambda: not app.busy)


async def save(app, pilot, settled, screen_text, *lines):
    """Write what is shown: the lines that go and come."""
    await settled(pilot, lambda: "enter: write it" in "\n".join(screen_text(app)))
    for line in lines:
        assert any(line in shown for shown in screen_text(app))
    await press(app, pilot, settled, "enter")


async def test_values_are_shown_with_their_sources_refused_in_place_and_followed_when_the_file_changes(
    app_world, running, settled, screen_text
):
    app_world.write("config.toml", "routing_ttl_seconds = 60 # calm\n")
    app_world.write("app.toml", '[[commands]]\nname = "bad"\ncommand = "ls {nope}"\n')
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled, "f2")
        go_to(rows, "routing_ttl_seconds")
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert "routing_ttl_seconds       line 1     60" in text
        assert 'tie_rule                  default    "fewest-calls"' in text

        await change(app, pilot, settled, rows, "routing_ttl_seconds", "-3")
        assert any("greater than or equal to 0" in line for line in screen_text(app))
        assert "60 # calm" in (app_world.config / "config.toml").read_text()
        await press(app, pilot, settled, "escape")

        go_to(rows, "routing_ttl_seconds")  # a file that is edited by hand
        chosen = rows.cursor_key
        app_world.write("config.toml", "# mine\nrouting_ttl_seconds = 75\n")
        await settled(pilot, lambda: any("line 2     75" in line for line in screen_text(app)))
        assert chosen == rows.cursor_key

        rows.go_to(next(row.key for row in rows.rows if row.key.endswith('"commands", 0, "key"]')))
        await pilot.pause()
        assert "enter: type it" in "\n".join(screen_text(app))  # not pressed: the command is broken
        await press(app, pilot, settled, "enter", screen="Question")


async def test_hints_of_the_settings_can_be_clicked_and_theme_and_preset_take_hold_at_once(
    app_world, running, settled, screen_text
):
    file = app_world.config / "app.toml"
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        go_to(rows, "theme")
        await press(app, pilot, settled, "enter", screen="Choice")
        await press(app, pilot, settled, "down", "enter")
        await save(app, pilot, settled, screen_text, "app.toml:1", '+ theme = "light"')
        await settled(pilot, lambda: app.theme == "agents-light")
        go_to(rows, "preset")
        await press(app, pilot, settled, "enter", screen="Choice")
        assert any("Keys as emacs has them" in line for line in screen_text(app))
        await press(app, pilot, settled, "G", "up", "enter")
        await save(app, pilot, settled, screen_text, '+ preset = "emacs"')
        await settled(pilot, lambda: app.keys.find("frame.palette").keys == "alt+x")
        assert 'theme = "light"\npreset = "emacs"\n' == file.read_text()

        rows.go_to(next(row.key for row in rows.rows if plain(row.line).split()[:1] == ["theme"]))
        await pilot.pause()
        y, edge = next((y, line) for y, line in enumerate(screen_text(app)) if "enter: change" in line)
        await pilot.click(offset=(edge.index("→: next"), y))
        await save(app, pilot, settled, screen_text, '- theme = "light"', '+ theme = "contrast"')
        await settled(pilot, lambda: 'theme = "contrast"' in file.read_text() and not app.busy)
        await pilot.click(offset=(edge.index("enter: change"), y))
        await settled(pilot, lambda: type(app.screen).__name__ == "Choice")
        await pilot.press("escape")
        await pilot.click(offset=(edge.index("esc: close"), y))
        await settled(pilot, lambda: app.screen is app.frame)


async def test_each_row_says_what_it_is_for_its_default_and_how_it_is_changed(app_world, running, settled, screen_text):
    async with running((80, 24)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        go_to(rows, "archive_limit_mb")
        await settled(pilot, lambda: any("0: any amount" in line for line in screen_text(app)))
        text = "\n".join(screen_text(app))
        assert "built-in 2048 · not in config.toml" in text
        assert "enter: type a number" in text

        await pilot.press(*"rea")  # what is typed into the filter can be read
        await settled(pilot, lambda: app.screen.query_one(Input).value == "rea")
        assert any(line.strip("│ ") == "rea" for line in screen_text(app))

        await pilot.press(*"jj")
        await settled(pilot, lambda: any("No setting fits 'reajj'" in line for line in screen_text(app)))


async def test_a_switch_is_flipped_and_accounts_are_pinned_drained_and_put_into_pools_where_settings_are(
    app_world, running, settled, screen_text
):
    file = app_world.config / "config.toml"
    app_world.write("config.toml", "archive = false # mine\n")
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        go_to(rows, "archive")
        await press(app, pilot, settled, "enter")
        await save(app, pilot, settled, screen_text, "config.toml:1", "- archive = false", "+ archive = true # mine")
        await settled(pilot, lambda: file.read_text() == "archive = true # mine\n")
        await press(app, pilot, settled, "right")
        await settled(pilot, lambda: "enter: write it" in "\n".join(screen_text(app)))
        await press(app, pilot, settled, "escape")  # leaves it
        assert file.read_text() == "archive = true # mine\n"
        await press(app, pilot, settled, "ctrl+u")  # takes the last one back
        await settled(pilot, lambda: file.read_text() == "archive = false # mine\n")
        await press(app, pilot, settled, "delete")
        await save(app, pilot, settled, screen_text, "- archive = false")
        await settled(pilot, lambda: "archive" not in file.read_text())

        rows.go_to("pin:opus")
        await press(app, pilot, settled, "enter", screen="Choice")
        await press(app, pilot, settled, "down", "enter")
        await settled(pilot, lambda: app.snapshot.pool("opus").pin == "bob")
        rows.go_to("drain:ada")
        await press(app, pilot, settled, "right")
        await settled(pilot, lambda: app.snapshot.accounts[0].wishes.drained)
        rows.go_to("reserve:ada")
        await press(app, pilot, settled, "enter", screen="Question")
        await press(app, pilot, settled, "7", "enter")
        await settled(pilot, lambda: app.snapshot.accounts[0].wishes.reserve == 0.07)

        await press(app, pilot, settled, *"models/opus")
        go_to(rows, "providers")
        await press(app, pilot, settled, "enter", screen="Items")
        await press(app, pilot, settled, "a", screen="Choice")
        await press(app, pilot, settled, "enter", screen="Items")
        await press(app, pilot, settled, "x", screen="Items")
        await press(app, pilot, settled, "escape")
        await save(app, pilot, settled, screen_text)
        await settled(pilot, lambda: app.snapshot.pool("opus") is not None)

    text = (app_world.config / "models/opus.toml").read_text()
    assert "[[providers]]\nname = 'bob'\n\n[[providers]]\nname = \"cyd\"\n" == text


async def test_texts_of_a_list_are_typed_and_checked(app_world, running, settled, screen_text):
    app_world.write("providers.toml", '[ada]\ncommand = "sh"\nargs = [\n  "-c", # what\n]\n')
    async with running((120, 36)) as (app, pilot):
        go_to(await opened(app, pilot, settled), "args")
        await press(app, pilot, settled, "enter", screen="Items")
        await press(app, pilot, settled, "a", screen="Question")
        await press(app, pilot, settled, *"a b", "enter", screen="Items")
        await press(app, pilot, settled, "enter", screen="Question")
        await press(app, pilot, settled, "end", "x", "enter", screen="Items")
        await press(app, pilot, settled, "escape")
        await save(app, pilot, settled, screen_text, '-   "-c", # what', '+   "-cx", # what', '+   "a b",')

    assert 'args = [\n  "-cx", # what\n  "a b",\n]' in (app_world.config / "providers.toml").read_text()


async def test_a_key_is_pressed_to_be_bound_and_one_of_another_action_is_taken_from_it_only_after_a_yes(
    app_world, running, settled, screen_text
):
    file = app_world.config / "app.toml"
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        rows.go_to("key:pools.drain")
        await press(app, pilot, settled, "enter", screen="KeyPress")
        await press(app, pilot, settled, "w")
        await settled(pilot, lambda: "enter: write it" in "\n".join(screen_text(app)))
        assert any("w is the key of pools.why (Explain the choice of an account" in line for line in screen_text(app))
        await press(app, pilot, settled, "escape")
        assert not file.exists()
        await press(app, pilot, settled, "enter", screen="KeyPress")
        await press(app, pilot, settled, "w")
        await save(app, pilot, settled, screen_text, '+ "pools.why" = "none"')
        await settled(pilot, lambda: app.keys.find("pools.drain").keys == "w")
        assert '[keys]\n"pools.why" = "none"\n"pools.drain" = "w"\n' == file.read_text()
        await press(app, pilot, settled, "ctrl+u")
        await settled(pilot, lambda: app.keys.find("pools.why") is not None)

        rows.go_to("key:pools.why")
        await press(app, pilot, settled, "enter", screen="KeyPress")
        await press(app, pilot, settled, "f9")
        await save(app, pilot, settled, screen_text)
        await settled(pilot, lambda: app.keys.find("pools.why").keys == "f9")
        await press(app, pilot, settled, "ctrl+n", screen="KeyPress")
        await press(app, pilot, settled, "ctrl+c")
        await save(app, pilot, settled, screen_text)
        await settled(pilot, lambda: app.keys.find("pools.why").keys == "f9,ctrl+c")
        assert '"pools.why" = "f9,ctrl+c"' in file.read_text()
        await press(app, pilot, settled, "ctrl+r")
        await save(app, pilot, settled, screen_text)
        await settled(pilot, lambda: app.keys.find("pools.why") is None)
        await press(app, pilot, settled, "delete")
        await save(app, pilot, settled, screen_text)
        await settled(pilot, lambda: app.keys.find("pools.why").keys == "w")


async def test_read_only_shows_and_changes_nothing(app_world, running, settled, screen_text):
    async with running((80, 24), read_only=True) as (app, pilot):
        await opened(app, pilot, settled)
        await pilot.press("enter", "right")
        await settled(pilot, lambda: not app.busy)

        assert "SettingsScreen" == type(app.screen).__name__
        assert any("Settings (read-only)" in line for line in screen_text(app))
        assert not (app_world.config / "app.toml").exists()


def test_filter_finds_keys_by_what_they_do():
    rows = format_setting_rows((), resolve(), 100, "wait for nobody")
    found = format_setting_rows((), resolve(), 100, "drain")

    assert () == rows
    assert any(row.key == "key:pools.drain" for row in found)


def test_no_clash_says_nothing():
    assert clash_text(resolve(), "pools.drain") is None


def test_rows_show_what_holds_above_the_files_and_what_of_a_project_is_ignored(tmp_path):
    project = tmp_path / "p" / ".agent-runner"
    project.mkdir(parents=True)
    (project / "settings.toml").write_text('auto_compaction = false\ntie_rule = "lowest-use"\ntie_rul = 1\n')
    above = Above(project=project, environment={"OXI_THEME": "nord", "OXI_STREAM": "maybe"})
    paths = Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path, above=above)
    sections = settings_edit.sections(paths)
    shown = [" ".join(plain(row.line).split()) for row in format_setting_rows(sections, resolve(), 200)]

    note = "auto_compaction (~/p/.agent-runner/settings.toml:1): the folder is not trusted: `agents config trust` shows"
    assert f"{note} what it says, and asks" in shown
    assert "~/p/.agent-runner/settings.toml:3: tie_rul: there is no setting 'tie_rul'. Fix: write tie_rule." in shown
    assert any(row.startswith("$OXI_STREAM: it must be true or false") for row in shown)
    assert [True] * 3 == [
        any(row.startswith(begin) for row in shown)
        for begin in ('theme variable "nord"', 'tie_rule project "lowest-use"', "auto_compaction default [x] true")
    ]
    theme = next(each for section in sections for each in section.settings if each.name == "theme")
    assert 'environment "nord" ($OXI_THEME) hides built-in not set' == describe_setting(theme)[1]


def test_names_of_settings_are_whole_in_eighty_columns(tmp_path):
    paths = Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path)
    sections = settings_edit.sections(paths)
    names = [setting.name for section in sections for setting in section.settings]
    shown = "\n".join(plain(row.line) for row in format_setting_rows(sections, resolve(), 72))

    assert [] == [name for name in names if f"\n{name} " not in shown and not shown.startswith(f"{name} ")]
