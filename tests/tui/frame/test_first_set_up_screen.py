"""The first set-up in the app: shown whole, written on a yes, taken back."""

from functools import partial

import pytest

from oulipoly_tui.screens.question import Confirm
from oulipoly_tui.screens.review import Review


@pytest.fixture
def running(running):
    """Open the app with the pane that offers it."""
    return partial(running, panes=["pools"], reads_quota=False)


@pytest.fixture
def installed(empty_world, home):
    """One CLI with a login."""
    for folder in ("bin", ".codex"):
        (home / folder).mkdir()
    (home / "bin/codex").write_text("#!/bin/sh\ncat\n")
    (home / "bin/codex").chmod(0o755)
    (home / ".codex/auth.json").write_text("{}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
        yield empty_world


@pytest.fixture
def nothing_installed(empty_world):
    """A PATH without any program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        yield empty_world


async def test_it_is_shown_written_on_a_yes_alone_and_taken_back(installed, running, screen_text, settled):
    async with running((100, 40)) as (app, pilot):
        for answer in ("escape", "y"):
            await pilot.press("a")
            await settled(pilot, lambda: isinstance(app.screen, Review))
            await settled(pilot, lambda: "chatgpt-usage ~/.codex/auth.json" in "\n".join(screen_text(app)))
            assert not installed.config.exists()
            await pilot.press(answer)
            await settled(pilot, lambda: not isinstance(app.screen, Review))
        await settled(pilot, lambda: app.snapshot.pool("codex") is not None)
        await pilot.press("a")
        await settled(pilot, lambda: "no login that is not an account yet" in "\n".join(screen_text(app)))
        await pilot.press("escape")
        app.order("setup undo")
        await settled(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("y")
        await settled(pilot, lambda: app.snapshot.is_empty)

    assert not (installed.config / "providers.toml").exists()


async def test_nothing_found_says_what_to_install_and_the_footer_has_the_keys_that_the_screen_tells_of(
    nothing_installed, running, screen_text, settled
):
    wanted = ("a set up", "S set up with agent", "A add account", "m demo", "? help")
    async with running((80, 24)) as (app, pilot):
        await settled(pilot, lambda: "No accounts yet" in "\n".join(screen_text(app)))
        await settled(pilot, lambda: all(words in screen_text(app)[-1] for words in wanted))
        await pilot.resize_terminal(100, 40)
        await settled(pilot, lambda: 40 == len(screen_text(app)))
        await pilot.press("a")
        await settled(pilot, lambda: "no login that is not an account yet" in "\n".join(screen_text(app)))
        await pilot.press("y", "escape")
        await settled(pilot, lambda: not isinstance(app.screen, Review))

    assert not nothing_installed.config.exists()


async def test_what_was_not_written_here_is_not_deleted(app_world, running, settled):
    async with running() as (app, pilot):
        app.order("setup undo")
        await settled(pilot, lambda: any("nothing to undo" in note.message for note in app._notifications))

    assert (app_world.config / "providers.toml").exists()


async def test_read_only_does_not_offer_it(nothing_installed, running, screen_text):
    async with running((80, 24), read_only=True) as (app, _):
        text = "\n".join(screen_text(app))

    assert "No accounts yet" in text
    assert "set up the CLIs" not in text
