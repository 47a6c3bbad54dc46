"""The Pools pane: each key does what it says, and says why where it does nothing."""

import sqlite3
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


async def test_the_log_shows_what_a_cli_said_the_way_out_and_who_answered_after_a_refusal(
    empty_world, running, screen_text, settled
):
    refusal = "You have hit your usage limit. Try again at 11:37 PM."
    empty_world.account("bad", ("5h", 1, 4), script="echo first >&2; echo 'OAuth token has expired: 401' >&2; exit 3")
    empty_world.account("spent", ("5h", 1, 4), script=f"echo '{refusal}' >&2; exit 1")
    empty_world.account("fresh", ("5h", 80, 4), script="echo hello; echo chatter >&2")
    empty_world.account("slow", ("5h", 1, 4), script="exec sleep 60")
    empty_world.model("failing", "bad")
    empty_world.model("refused", "spent", "fresh")
    empty_world.model("slowly", "slow")
    empty_world.model("haunted", "ghost", "fresh")
    async with running((140, 40)) as (app, pilot):
        assert "not configured" in "\n".join(screen_text(app))  # an account that providers.toml lacks
        app.frame.query_one("#pools-list").go_to("haunted\n0")
        await pilot.press("d")
        await settled(pilot, lambda: any("not in providers.toml" in text for text in _said(app)))

        app.order("prompt", ("failing", "hello"))
        await settled(pilot, lambda: "✗ ended with exit code 3" in _log(app))
        assert "first" in _log(app)
        assert "OAuth token has expired: 401" in _log(app)
        assert "→ log in again: `agents account login" in _log(app)
        await settled(pilot, lambda: not app.engine.background.running)

        app.order("prompt", ("refused", "hello"))
        await settled(pilot, lambda: "✓ done by fresh" in _log(app))
        assert refusal in _log(app)
        assert "provider spent returned quota_exhausted; trying the next account" in _log(app)
        assert "chatter" not in _log(app)
        await settled(pilot, lambda: not app.engine.background.running)

        app.order("prompt", ("slowly", "hello"))
        await settled(pilot, lambda: "in use by 1" in "\n".join(screen_text(app)))
        app.engine.close()


async def test_changes_from_elsewhere_are_on_the_screen_and_a_typo_takes_no_pool_away(
    app_world, agents, running, screen_text, settled
):
    path = app_world.config / "providers.toml"
    async with running((200, 30)) as (app, pilot):
        shown = {hint.id for hint in app.frame.query_one("#footer").hints}
        assert app.has_pane("repl") == ("pools.repl" in shown)  # the key is not shown without that pane

        app.order("pin", ("opus", "ada"))
        await settled(pilot, lambda: app.snapshot.pool("opus").pin == "ada")
        app.order("prompt", ("opus", "hello"))  # runs on the pinned account
        await settled(pilot, lambda: "✓ done" in _log(app))
        with closing(sqlite3.connect(app_world.data / "state.db")) as connection:
            runs = connection.execute("SELECT provider_name, provider_index FROM invocations").fetchall()
        assert [("ada", 0)] == runs

        await settled(pilot, lambda: not app.busy)
        assert 0 == agents("account", "drain", "bob").returncode
        await settled(pilot, lambda: "drained" in "\n".join(screen_text(app)))

        with path.open("a") as file:
            file.write("kaputt = [\n")
        await settled(pilot, lambda: any("providers.toml" in text and "is broken" in text for text in _said(app)))
        await settled(pilot, lambda: not app.busy)
        text = "\n".join(screen_text(app))

    line = path.read_text().count("\n")
    assert f"! providers.toml:{line} is broken: shown as read" in text
    assert "not configured" not in text


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
