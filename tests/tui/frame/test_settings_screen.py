"""The settings' screen: values with their sources, changes that are checked, kept and take hold."""

from textual.widgets import Input

from oulipoly_tui.keys.keymap import resolve
from oulipoly_tui.view.frame.settings import clash_text, format_setting_rows
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList


async def opened(app, pilot, settled, key="comma"):
    await pilot.press(key)
    await settled(pilot, lambda: type(app.screen).__name__ == "SettingsScreen" and not app.busy)
    return app.screen.query_one(VirtualList)


async def change(app, pilot, settled, rows, name, typed):
    key = next(row.key for row in rows.rows if plain(row.line).split()[:1] == [name])
    rows.go_to(key)
    await pilot.press("enter")
    await settled(pilot, lambda: type(app.screen).__name__ == "Question")
    app.screen.query_one(Input).value = typed
    await pilot.press("enter")
    await settled(pilot, lambda: not app.busy)


async def test_comma_and_f2_show_values_with_their_sources(app_world, running, settled, screen_text):
    app_world.write("config.toml", "routing_ttl_seconds = 60\n")
    async with running((120, 36)) as (app, pilot):
        await opened(app, pilot, settled, "f2")

        text = "\n".join(screen_text(app))
        assert "routing_ttl_seconds      line 1     60" in text
        assert 'tie_rule                 default    "fewest-calls"' in text


async def test_hints_of_the_settings_can_be_clicked(app_world, running, settled, screen_text):
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        rows.go_to(next(row.key for row in rows.rows if plain(row.line).split()[:1] == ["theme"]))
        y, edge = next((y, line) for y, line in enumerate(screen_text(app)) if "enter changes" in line)
        await pilot.click(offset=(edge.index("→ next"), y))
        await settled(pilot, lambda: (app_world.config / "app.toml").exists())
        await pilot.click(offset=(edge.index("enter changes"), y))
        await settled(pilot, lambda: type(app.screen).__name__ == "Question")
        await pilot.press("escape")
        await pilot.click(offset=(edge.index("esc closes"), y))
        await settled(pilot, lambda: app.screen is app.frame)


async def test_refused_value_is_said_at_the_field_and_not_saved(app_world, running, settled, screen_text):
    app_world.write("config.toml", "routing_ttl_seconds = 60 # calm\n")
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        await change(app, pilot, settled, rows, "routing_ttl_seconds", "-3")

        assert any("greater than or equal to 0" in line for line in screen_text(app))
        assert "60 # calm" in (app_world.config / "config.toml").read_text()


async def test_theme_and_preset_take_hold_at_once(app_world, running, settled):
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        await change(app, pilot, settled, rows, "theme", "light")
        await settled(pilot, lambda: app.theme == "agents-light")
        await change(app, pilot, settled, rows, "preset", "emacs")
        await settled(pilot, lambda: app.keys.find("frame.palette").keys == "alt+x")

        assert 'theme = "light"\npreset = "emacs"\n' == (app_world.config / "app.toml").read_text()


async def test_clash_is_said_before_a_key_is_saved(app_world, running, settled, screen_text):
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        await change(app, pilot, settled, rows, "pools.drain", "w")

        assert any("w also means pools.why" in line for line in screen_text(app))
        assert not (app_world.config / "app.toml").exists()
        await pilot.press("enter")
        await settled(pilot, lambda: any(plain(row.line).startswith("keys · 1 clash") for row in rows.rows))
        assert '"pools.drain" = "w"' in (app_world.config / "app.toml").read_text()


async def test_a_key_that_is_none_is_refused(app_world, running, settled, screen_text):
    async with running((120, 36)) as (app, pilot):
        rows = await opened(app, pilot, settled)
        await change(app, pilot, settled, rows, "pools.drain", "escpae")

        assert any(
            "pools.drain the key 'escpae', which there is not: write 'escape'" in one for one in screen_text(app)
        )
        assert not (app_world.config / "app.toml").exists()


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


async def test_what_is_typed_into_the_filter_can_be_read(app_world, running, settled, screen_text):
    async with running((80, 24)) as (app, pilot):
        await opened(app, pilot, settled)
        await pilot.press("slash", *"rea")
        await settled(pilot, lambda: app.screen.query_one(Input).value == "rea")

        assert any(line.strip("│ ") == "rea" for line in screen_text(app))
