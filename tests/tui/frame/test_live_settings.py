"""The app while its files change: keys, themes and what is wrong with them; and what is said of failures."""

from functools import partial

import pytest

from oulipoly_engine.core.runs.invocations import Category
from oulipoly_engine.core.runs.recovery import SPAWN_FAILED, fix_of
from oulipoly_engine.paths import from_environment
from oulipoly_tui import entry
from oulipoly_tui.live_settings import LiveSettings


@pytest.fixture
def running(running):
    """Open the app with one pane."""
    return partial(running, panes=["pools"], reads_quota=False)


def _follow(app):
    app.live_settings = LiveSettings(app, lambda: entry.options(from_environment(), []))


def _troubles(app):
    return [f"{one.place} {one.cause} → {one.fix}" for one in app.alerts.troubles()]


async def test_a_key_and_a_theme_work_as_soon_as_they_stand_in_their_files_and_no_longer(app_world, running, settled):
    async with running() as (app, pilot):
        _follow(app)

        async def explain(key):
            await settled(pilot, lambda: app.keys.find("pools.why").keys == key)
            await pilot.press(key)
            await settled(pilot, lambda: type(app.screen).__name__ == "Reading")
            await pilot.press("escape")
            await settled(pilot, lambda: app.screen is app.frame)

        app_world.write("app.toml", '[keys]\n"pools.why" = "f9"\n')
        await explain("f9")
        (app_world.config / "app.toml").unlink()
        await explain("w")  # it is as it was

        app_world.write("themes/mine.toml", 'primary = "#336699"\n')
        app_world.write("app.toml", 'theme = "mine"\n')
        await settled(pilot, lambda: app.theme == "mine")
        app_world.write("themes/mine.toml", 'primary = "#993366"\n')
        await settled(pilot, lambda: app.theme_variables["primary"].lower() == "#993366")
        assert "mine" == app.theme
        (app_world.config / "themes/mine.toml").unlink()
        await settled(pilot, lambda: app.theme == "agents-dark")
        assert "mine" not in app.available_themes


async def test_a_slip_in_app_toml_is_said_at_the_start_and_when_it_is_made(app_world, running, settled):
    app_world.write("app.toml", "footer = 'tiny'\ntheme = 'nobodys'\n")
    options = entry.options(from_environment(), [])

    def said(app):
        return " ".join(one.message for one in app._notifications)

    async with running((160, 40), warnings=options.warnings) as (app, pilot):
        _follow(app)
        await settled(pilot, lambda: "2 problems, the first: app.toml:1: footer" in said(app))
        app_world.write("app.toml", "theme = 'nobodys'\n")
        await settled(pilot, lambda: "there is no theme 'nobodys'" in said(app))


async def test_a_key_that_is_none_is_said_at_the_start_and_stands_in_the_problems(app_world, running, settled):
    app_world.write("app.toml", '[keys]\n"frame.help" = "notakey!!"\n"pools.why" = "Ctrl+G"\n')
    options = entry.options(from_environment(), [])
    async with running((160, 40), own_keys=options.own_keys, warnings=options.warnings) as (app, pilot):
        await settled(pilot, lambda: any("no" in one.message for one in app._notifications))

        assert ["app.toml: [keys] gives frame.help the key 'notakey!!', which there is not"] == [
            one.message for one in app._notifications
        ]
        assert any("frame.help" in text for text in _troubles(app))
        await settled(pilot, lambda: app.snapshot is not None)
        await pilot.press("ctrl+g")
        await settled(pilot, lambda: type(app.screen).__name__ == "Reading")


async def test_a_missing_program_and_what_is_wrong_in_app_toml_and_a_theme_stand_in_the_problems(
    app_world, running, settled
):
    app_world.write("app.toml", "footer = 'tiny'\n")
    app_world.write("themes/odd.toml", "primary = 3\n")
    app_world.write("providers.toml", "[ada]\ncommand = 'no-such-cli'\n")
    async with running() as (app, pilot):
        await settled(pilot, lambda: any("app.toml" in text for text in _troubles(app)))
        assert any("odd.toml" in text for text in _troubles(app))
        await settled(pilot, lambda: any("'no-such-cli' was not found → install it" in text for text in _troubles(app)))


async def test_a_failed_run_is_told_with_its_fix_until_one_succeeds(empty_world, running, settled):
    empty_world.account("ada", script='[ -e "$HOME/well" ] || { echo "Please run /login" >&2; exit 1; }')
    empty_world.model("opus", "ada")
    async with running() as (app, pilot):
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: any("`agents account login ada`" in text for text in _troubles(app)))
        assert any("Please run /login" in text for text in _troubles(app))
        (empty_world.home / "well").touch()
        await settled(pilot, lambda: not app.engine.background.running)
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: not any("the last run" in text for text in _troubles(app)))
        await settled(pilot, lambda: not app.engine.background.running)


@pytest.mark.parametrize(
    "reason",
    [
        "auth_expired",
        "cli_version_mismatch",
        "network_error",
        "rate_limit",
        "quota_exhausted",
        "resume_session_mismatch",
        "hung_subprocess",
        "spawn_error",
        "guard_drop",
    ],
)
def test_each_class_of_failure_has_a_fix_of_its_own(reason):
    assert fix_of(None, reason) != fix_of("unknown", None)


def test_a_fix_names_the_account_or_runtime_that_it_mends():
    """`codex login` would mend the usual home, and a runtime's program stands in config.toml."""
    assert "`agents account login work`" in fix_of(Category.AUTH_EXPIRED, account="work")
    assert "`program` of [runtimes.x] in config.toml" in fix_of(None, SPAWN_FAILED, account="x")
