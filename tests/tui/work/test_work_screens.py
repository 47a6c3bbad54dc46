"""Screens of work sessions at three sizes, over what an engine would tell."""

from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.web.devices import Device, ServerEntry
from oulipoly_engine.core.worktrees.changes import ChangeSet, CommitLine, FileDiff, HunkText, MergePreview
from oulipoly_engine.core.worktrees.porcelain import ChangeEntry
from oulipoly_engine.core.worktrees.retention import Look, WorktreeStatus
from oulipoly_engine.core.worktrees.setup_file import Setup
from oulipoly_engine.core.worktrees.work import Repository
from oulipoly_engine.core.worktrees.worktrees import Worktree
from oulipoly_engine.facade.worktrees.worktrees import Pruned
from oulipoly_engine.records import replace
from oulipoly_tui.screens.review import Review
from oulipoly_tui.screens.work import new_work
from oulipoly_tui.screens.work.changes import ChangesScreen
from oulipoly_tui.screens.work.new_work import NewWorkScreen
from oulipoly_tui.screens.work.server import ServerScreen
from oulipoly_tui.screens.work.worktrees import WorktreesScreen
from oulipoly_tui.view.transcript.spans import cells, plain
from oulipoly_tui.view.work.changes import diff_rows, highlight_context, merge_body, merge_head
from oulipoly_tui.view.work.new_work import Found
from oulipoly_tui.view.work.server import code_text
from oulipoly_tui.view.work.worktrees import prune_lines, remove_text

SIZES = ((60, 20), (80, 24), (200, 50))
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ID = "1b2c3d4e-0000-4000-8000-000000000000"
HOSTILE = "b\x1b[31m[b]x[/b].py"
LINES = (" def slope(roof):", "-    return 1", "+    return 'as the \x1b[31mroof\x1b[0m wants'", " ", " # below")
HUNKS = (
    HunkText("d1", "@@ -1,4 +1,4 @@", LINES, 1, 1),
    HunkText("d2", "@@ -90,2 +90,3 @@ def gutter():", (" x = 1", "+" + "y = 2; " * 30, " z = 3"), 90, 90),
)
STATUS = ChangeSet(
    True,
    branch=f"aw/{ID}",
    base="main",
    ahead=2,
    behind=1,
    staged=(ChangeEntry("docs/new.md", "R", "docs/old.md"),),
    unstaged=(ChangeEntry("src/roof.py", "M"), ChangeEntry(HOSTILE, "?"), ChangeEntry("both.txt", "U")),
)
PREVIEW = MergePreview(
    f"aw/{ID}",
    "main",
    "c1",
    "c2",
    commits=(CommitLine("0123456789ab", "Paint the roof"), CommitLine("ba9876543210", "Mend the \x1b]0;gutter")),
    files=("src/roof.py", "both.txt"),
    conflicts=("both.txt",),
    checkout="/home/ada/house",
    uncommitted=("notes.txt",),
)


class Engine:
    """An engine whose parts tell what a test says."""

    def __init__(self, real=None):
        self._real = real
        self.changes = self.work = self.worktrees = self.web = self

    def __getattr__(self, name):
        return getattr(self._real, name)

    def status(self, _identity):
        return STATUS

    def committed(self, _identity):
        return (ChangeEntry("src/slate.py", "A"),)

    def diff(self, _identity, path, side):
        return FileDiff(path, side, diff="x", hunks=HUNKS)

    def repository(self, _folder):
        return Repository("/home/ada/house", "main", "c0ffee", ("main", "slates"))

    def list(self, *_words, has_removed=None, **_more):
        return () if has_removed is None else TREES

    def servers(self):
        return (ServerEntry(4711, "https://192.168.1.20:8787", ":".join(["AB"] * 32), NOW - timedelta(hours=2)),)

    def devices(self):
        seen = NOW - timedelta(minutes=5)
        phone = Device("d1", "device", "phone", ("view", "answer", "operate"), NOW, last_seen_at=seen)
        return (phone, Device("d2", "link", HOSTILE, ("view",), NOW))


def tree(number, state="ready", **look):
    key = f"{number:08x}-0000-4000-8000-000000000000"
    made = Worktree(key, "/house", f"/house/.agent-runner-worktrees/{key}", f"aw/{key}", "main", "c", state, NOW, NOW)
    size = None if state == "removed" else number * 1_500_000
    return WorktreeStatus(made, Look(exists=state == "ready", **look), number == 1, size)


TREES = (tree(3, "removed"), tree(1, changed_files=4, ahead=2), tree(2, is_merged=True, ahead=0, behind=7))


@pytest.fixture
def shown(running, check_golden, settled, monkeypatch):
    """Open screens over the engine above and compare each at each size: `await shown((make, "changes", condition))`."""

    async def show(*screens):
        async with running(SIZES[0], panes=("pools",)) as (app, pilot):
            app.engine, real = Engine(app.engine), app.engine
            try:
                monkeypatch.setattr(app, "now", lambda: NOW)
                for make, name, condition, *keys in screens:
                    screen = make()
                    app.push_screen(screen)
                    await settled(pilot, lambda screen=screen, condition=condition: condition(screen) and not app.busy)
                    await pilot.press(*keys)
                    for width, height in SIZES:
                        await pilot.resize_terminal(width, height)
                        await pilot.pause()
                        await pilot.pause()
                        inner = screen.query("Vertical").first().region
                        strips = app.screen._compositor.render_strips()
                        rows = ["".join(part.text for part in strip) for strip in strips]
                        lines = [row[inner.x : inner.right].rstrip() for row in rows[inner.y : inner.bottom]]
                        check_golden(f"{name}-{width}x{height}", "\n".join((*lines, rows[-1].rstrip())))
                    app.pop_screen()
                    await pilot.resize_terminal(*SIZES[0])
                    await settled(pilot, lambda: app.screen is app.frame and app.frame.size == SIZES[0])
            finally:
                app.engine = real

    return show


def test_what_git_ignores_is_named_with_a_count_before_a_removal():
    found = replace(tree(2), ignored=(".env", "build/"))
    words = ".env, build/ (files and whole folders: 2)"

    assert f"What git ignores is not kept: {words}." in remove_text(found, found.ignored)
    assert f"    not kept: {words}" in [plain(line) for line in prune_lines(Pruned((found,), ()))]


async def test_changes_new_work_worktrees_the_server_and_a_merge_are_readable(shown, monkeypatch):
    def find(_engine, draft):
        setup = Setup(setup=("npm ci",), copy=(".env",))
        return Found(draft.repository, Engine().repository(""), setup, is_allowed=False, kind="codex")

    def review():
        return Review("Merge?", merge_head(PREVIEW, ID, "merge"), merge_body(PREVIEW), yes="Hand to the agent")

    monkeypatch.setattr(new_work, "find", find)

    def is_read(screen):
        return screen.found and screen._diff and screen._committed

    keys = ("tab", "down", "down", "down")
    await shown(
        (
            lambda: ChangesScreen(ID, "paint the roof"),
            "changes",
            lambda one: one.found and one._diff and one._committed,
            *keys,
        ),
        (lambda: NewWorkScreen(("/home/ada/house",)), "new-work", lambda one: one.found),
        (WorktreesScreen, "worktrees", lambda one: one.found),
        (ServerScreen, "server", lambda one: one.servers and one.devices),
        (review, "merge", lambda one: [part for part in one.query("#review-body") if part.lines]),
    )


@pytest.mark.parametrize("width", [20, 40, 120])
def test_a_diff_is_never_wider_and_what_is_the_same_has_the_tones_of_its_language(width):
    diff = FileDiff("src/roof.py", "worktree", diff="x", hunks=HUNKS)
    rows = diff_rows(diff, width, {2}, highlight_context(diff))

    assert all(cells(plain(row.line)) <= width for row in rows)
    assert ("def", "keyword") in rows[1].line
    assert "●" in plain(rows[3].line)
    assert not any("\x1b" in plain(row.line) for row in rows)


def test_a_code_is_drawn_as_half_blocks():
    dark, light = True, False

    assert " ▄▀\n▄█▄" == code_text([[dark, dark, light], [dark, light, dark], [dark, light, dark]])
