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


async def test_what_is_marked_is_copied_after_its_difference_was_seen(empty_world, running, screen_text, settled):
    sync = Sync()
    async with running((80, 24)) as (app, pilot):
        app.push_screen(SyncScreen(sync))
        await settled(pilot, lambda: "review" in "\n".join(screen_text(app)))
        await pilot.press("space", "space", "space", "enter")
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


async def test_nothing_is_copied_without_a_yes_or_where_it_is_there(empty_world, running, screen_text, settled):
    sync = Sync()
    async with running((80, 24)) as (app, pilot):
        app.push_screen(SyncScreen(sync))
        await settled(pilot, lambda: "review" in "\n".join(screen_text(app)))
        for key, answer in (("enter", []), ("down", ["escape"])):
            await pilot.press(key)
            if key == "down":
                await pilot.press("enter")
            await settled(pilot, lambda: isinstance(app.screen, Choice))
            await pilot.press("enter")
            if answer:
                await settled(pilot, lambda: isinstance(app.screen, Review))
                await pilot.press(*answer)
            else:
                await settled(pilot, lambda: any("has the same already" in note.message for note in app._notifications))
            await settled(pilot, lambda: isinstance(app.screen, SyncScreen) and not app.busy)

    assert [] == sync.applied


@pytest.mark.parametrize("width", [40, 74, 140])
def test_rows_fit_and_tell_where_else_it_is(width):
    rows = sync_rows(HOMES, {"1"}, width)

    assert all(width >= cells(plain(row.line)) for row in rows if row.is_selectable)
    assert ["0", "1", "2", "3"] == [row.key for row in rows if row.is_selectable]
    assert ["also in work" in plain(row.line) for row in rows if row.key == "0"] == [width > 60]
    assert plain(next(row.line for row in rows if row.key == "1")).startswith("✓ skill")
    assert [one.name for one in list_entries(HOMES)] == ["commit", "review", "notes", "commit"]


@pytest.mark.parametrize(
    ("homes", "told"),
    [
        ((*HOMES, home("gemini", "gemini")), ["claude", "work · Codex", "Nothing in gemini."]),
        ((home("codex", "codex"), home("gemini", "gemini")), ["No CLI has a skill or an MCP server yet."]),
    ],
    ids=["some", "none"],
)
async def test_what_has_nothing_is_told_in_one_line(homes, told, empty_world, running, screen_text, settled):
    sync = Sync()
    sync.homes = lambda: homes
    async with running((80, 24)) as (app, pilot):
        app.push_screen(SyncScreen(sync))
        await settled(pilot, lambda: all(text in "\n".join(screen_text(app)) for text in told))
        assert "0 skills" not in "\n".join(screen_text(app))
