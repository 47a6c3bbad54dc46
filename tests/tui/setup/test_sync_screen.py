"""Skills and MCP servers in the app: listed by home, marked, copied after a look at the difference."""

from functools import partial
from types import SimpleNamespace

import pytest

from oulipoly_tui.screens.choice import Choice
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.setup.sync import SyncScreen
from oulipoly_tui.view.setup.sync import list_entries, sync_rows
from oulipoly_tui.view.transcript.spans import cells, plain


def home(name, cli, skills=(), servers=(), problems=()):
    titled = SimpleNamespace(name=cli, title=cli.capitalize())
    folder = f"/home/.{cli}/skills"
    servers = dict.fromkeys(servers)
    return SimpleNamespace(
        name=name, cli=titled, skills=skills, servers=servers, problems=problems, skills_folder=folder
    )


HOMES = (
    home("claude", "claude", ("commit", "review"), ("notes",)),
    home("work", "codex", ("commit",), (), ("config.toml cannot be read",)),
)


class Sync:
    """Plans what it is asked for, and notes what is carried out."""

    def __init__(self):
        self.applied = []

    def homes(self):
        return HOMES

    def plan(self, kind, source, target, name):
        is_needed = name != "commit"
        what = f"copied the {kind} {name} from {source} to {target}"
        diff = f"--- {name}\n+++ {name}\n+{name}\n"
        return SimpleNamespace(what=what, diff=diff, notes=("a note",), replaces=name == "notes", is_needed=is_needed)

    def apply(self, plan):
        self.applied.append(plan.what)


@pytest.fixture
def running(running):
    """Open the app with one pane, without reading quota."""
    return partial(running, panes=["pools"], reads_quota=False)


async def test_what_is_marked_is_copied_after_its_difference_was_seen_and_a_yes(
    empty_world, running, screen_text, settled
):
    sync = Sync()
    async with running((80, 24)) as (app, pilot):
        app.push_screen(SyncScreen(sync))
        await settled(pilot, lambda: "review" in "\n".join(screen_text(app)))
        await pilot.press("enter")  # it is there already
        await settled(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("enter")
        await settled(pilot, lambda: any("has the same already" in note.message for note in app._notifications))
        await settled(pilot, lambda: isinstance(app.screen, SyncScreen) and not app.busy)
        await pilot.press("down", "enter")
        await settled(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("enter")
        await settled(pilot, lambda: isinstance(app.screen, Review))
        await pilot.press("escape")
        await settled(pilot, lambda: isinstance(app.screen, SyncScreen) and not app.busy)
        assert [] == sync.applied

        await pilot.press("home", "space", "space", "space", "enter")
        await settled(pilot, lambda: isinstance(app.screen, Choice))
        await pilot.press("down", "enter")
        await settled(pilot, lambda: isinstance(app.screen, Review))
        text = "\n".join(screen_text(app))
        assert "work has the same already: copied the skill commit" in text
        assert "! replaces another one of that name: copied the mcp notes" in text
        assert [] == sync.applied
        await pilot.press("y")
        await settled(pilot, lambda: len(sync.applied) == 2 and not app.busy)

    assert [f"copied the {one} from claude to work" for one in ("skill review", "mcp notes")] == sync.applied


@pytest.mark.parametrize("width", [40, 74, 140])
def test_rows_fit_and_tell_where_else_it_is(width):
    rows = sync_rows(HOMES, {"1"}, width)

    assert all(width >= cells(plain(row.line)) for row in rows if row.is_selectable)
    assert ["0", "1", "2", "3"] == [row.key for row in rows if row.is_selectable]
    assert ["also in work" in plain(row.line) for row in rows if row.key == "0"] == [width > 60]
    assert plain(next(row.line for row in rows if row.key == "1")).startswith("✓ skill")
    assert [one.name for one in list_entries(HOMES)] == ["commit", "review", "notes", "commit"]


async def test_what_has_nothing_is_told_in_one_line(empty_world, running, screen_text, settled):
    some = (*HOMES, home("gemini", "gemini")), ["claude", "work · Codex", "Nothing in gemini."]
    none = (home("codex", "codex"), home("gemini", "gemini")), ["No CLI has a skill or an MCP server yet."]
    async with running((80, 24)) as (app, pilot):
        for homes, told in (some, none):
            sync = Sync()
            sync.homes = lambda homes=homes: homes
            app.push_screen(SyncScreen(sync))
            await settled(pilot, lambda told=told: all(text in "\n".join(screen_text(app)) for text in told))
            assert "0 skills" not in "\n".join(screen_text(app))
            app.pop_screen()
            await settled(pilot, lambda: app.screen is app.frame)
