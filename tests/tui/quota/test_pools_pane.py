"""The Pools pane: each key does what it says, and says why where it does nothing."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest

from oulipoly_tui.screens.what_if import WhatIf
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import Lines


@pytest.fixture
def running(running):
    """Open the app with this pane alone: the others have tests of their own."""
    return partial(running, panes=["pools"])


def _said(app):
    return [note.message for note in app._notifications]


def _log(app):
    return "\n".join(plain(line) for line in app.frame.query_one("#pools-log", Lines).lines)


async def test_what_if_names_what_it_cannot_read_and_shows_what_comes_before_it_is_applied(
    app_world, running, screen_text, settled
):
    async with running((120, 40)) as (app, pilot):
        await pilot.press("W")
        await settled(pilot, lambda: isinstance(app.screen, WhatIf))
        pool = app.screen._pool
        await pilot.press(*" drian=x")
        await settled(pilot, lambda: "is not a what-if" in "\n".join(screen_text(app)))
        await pilot.press("end", *["backspace"] * 20, *f"drain={pool.next_account}")
        await settled(pilot, lambda: f"{pool.next_account} → " in "\n".join(screen_text(app)))
        assert not app.snapshot.account(pool.next_account).wishes.drained
        await pilot.press("f2")
        await settled(pilot, lambda: app.snapshot.account(pool.next_account).wishes.drained)


async def test_a_failed_prompt_shows_what_its_cli_said_and_the_way_out(empty_world, running, settled):
    empty_world.account("bad", ("5h", 1, 4), script="echo first >&2; echo 'OAuth token has expired: 401' >&2; exit 3")
    empty_world.model("opus", "bad")
    async with running((140, 40)) as (app, pilot):
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: "✗ ended with exit code 3" in _log(app))
        text = _log(app)

    assert "first" in text
    assert "OAuth token has expired: 401" in text
    assert "→ log in again: `agents account login" in text


async def test_a_prompt_that_one_account_refused_names_it_and_who_answered(empty_world, running, settled):
    refusal = "You have hit your usage limit. Try again at 11:37 PM."
    empty_world.account("spent", ("5h", 1, 4), script=f"echo '{refusal}' >&2; exit 1")
    empty_world.account("fresh", ("5h", 80, 4), script="echo hello; echo chatter >&2")
    empty_world.model("opus", "spent", "fresh")
    async with running((140, 40)) as (app, pilot):
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: "✓ done by fresh" in _log(app))
        text = _log(app)

    assert refusal in text
    assert "provider spent returned quota_exhausted; trying the next account" in text
    assert "chatter" not in text


async def test_a_pinned_one_shot_runs_on_the_pinned_account(app_world, running, settled):
    async with running((100, 40)) as (app, pilot):
        app.order("pin", ("opus", "ada"))
        await settled(pilot, lambda: app.snapshot.pool("opus").pin == "ada")
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: "✓ done" in _log(app))
    with closing(sqlite3.connect(app_world.data / "state.db")) as connection:
        assert [("ada", 0)] == connection.execute("SELECT provider_name, provider_index FROM invocations").fetchall()


async def test_in_use_is_shown_while_it_runs(empty_world, running, screen_text, settled):
    empty_world.account("slow", ("5h", 1, 4), script="exec sleep 60")
    empty_world.model("opus", "slow")
    async with running((120, 30)) as (app, pilot):
        app.order("prompt", ("opus", "hello"))
        await settled(pilot, lambda: "in use by 1" in "\n".join(screen_text(app)))
        app.engine.close()


async def test_another_process_s_change_is_on_the_screen(app_world, running, screen_text, settled):
    async with running((100, 30)) as (app, pilot):
        await settled(pilot, lambda: not app.busy)
        command = [sys.executable, "-m", "oulipoly_tui", "account", "drain", "bob"]
        subprocess.run(command, check=True, capture_output=True)
        await settled(pilot, lambda: "drained" in "\n".join(screen_text(app)))


async def test_a_typo_in_a_live_file_takes_no_pool_away_and_is_told(app_world, running, screen_text, settled):
    path = app_world.config / "providers.toml"
    async with running((100, 30)) as (app, pilot):
        await settled(pilot, lambda: not app.busy)
        with path.open("a") as file:
            file.write("kaputt = [\n")
        await settled(pilot, lambda: any("providers.toml" in text and "is broken" in text for text in _said(app)))
        await settled(pilot, lambda: not app.busy)
        text = "\n".join(screen_text(app))

    line = path.read_text().count("\n")
    assert f"! providers.toml:{line} is broken: shown as read" in text
    assert "not configured" not in text


async def test_the_repl_key_is_not_shown_without_a_repl_pane(app_world, running):
    async with running((200, 30)) as (app, _):
        shown = {hint.id for hint in app.frame.query_one("#footer").hints}
        has_repl = app.has_pane("repl")

    assert has_repl == ("pools.repl" in shown)


async def test_an_account_that_providers_toml_lacks_says_so(empty_world, running, screen_text, settled):
    empty_world.account("ada", ("5h", 5, 3))
    empty_world.model("opus", "ghost", "ada")
    async with running((120, 30)) as (app, pilot):
        assert "not configured" in "\n".join(screen_text(app))
        app.frame.query_one("#pools-list").go_to("opus\n0")
        await pilot.press("d")
        await settled(pilot, lambda: any("not in providers.toml" in text for text in _said(app)))


async def test_rows_fit_again_when_the_configuration_comes_back(app_world, home, running, screen_text, settled):
    def shown(app):
        return screen_text(app)[2:8]

    async with running((120, 30), panes=None, reads_quota=False) as (app, pilot):
        await settled(pilot, lambda: len(app.frame.area.visible_ids()) > 1 and "▶" in "\n".join(shown(app)))
        heading = shown(app)[0][:50]
        app_world.config.rename(home / "away")
        await settled(pilot, lambda: "No accounts yet" in "\n".join(screen_text(app)))
        (home / "away").rename(app_world.config)
        await settled(pilot, lambda: shown(app)[0][:50] == heading)

        assert "▶" in "\n".join(shown(app))
