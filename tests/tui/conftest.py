"""A small world for the app: accounts whose quota scripts print what the test says, a real engine, a Pilot."""

import asyncio
import json
import os
import shlex
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from textual import _callback
from textual import app as textual_app
from textual import pilot as textual_pilot
from textual._context import visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.facade.snapshot import SnapshotMaker
from oulipoly_engine.paths import from_environment
from oulipoly_engine.service.accounts.configuration import Places
from oulipoly_engine.store.base.db import open_store
from oulipoly_tui.app import AgentsApp, Options
from oulipoly_tui.base.table import PANES
from oulipoly_tui.driver.typeahead import KeysInTurn
from oulipoly_tui.entry import open_engine

GOLDENS = Path(__file__).parent / "goldens"
# So long until something that must happen counts as missing; nothing waits for it when all is well.
PATIENCE_S = 300.0
_STEP_S, _LONGEST_STEP_S = 0.02, 0.1


@pytest.fixture(autouse=True)
def _idle_is_idle(monkeypatch, request):
    """Have a pilot wait until the app has nothing to do; Textual takes a starved app for idle.

    A screen is drawn where a test looks at it; besides, each kind of widget is drawn once a test, alone: half of what
    these tests ask of the processor were pictures that nobody looks at. A test that is about drawing itself is marked
    `draws_at_once`.
    """
    wait_for_idle, draw, render = textual_pilot.wait_for_idle, Screen._compositor_refresh, Screen.render
    waiting, drawn = set(), set()

    def draw_later(screen):
        if screen is screen.app.screen:
            waiting.add(screen)
            screen._dirty_widgets.clear()  # the compositor keeps their regions
            screen.app._update_mouse_over(screen)
        else:
            draw(screen)

    def render_over_others(screen):
        if screen is screen.app.screen:  # whoever reads the screen before it is drawn sees what lies beneath, too
            visible_screen_stack.set(screen.app._background_screens)
        return render(screen)

    async def settle():
        loop, turns = asyncio.get_running_loop(), 0
        while turns < 3:  # what one turn has called is done in the next
            await asyncio.sleep(0)
            turns = 0 if loop._ready else turns + 1

    async def wait(*limits):
        await wait_for_idle(*limits)
        await settle()

    async def wait_for_screen(pilot):
        """Wait until no widget has a message; Textual sends each of them another one, to be told when it came."""
        await settle()
        return True

    async def wait_and_draw(*limits):
        await wait(*limits)
        while waiting:
            screen = waiting.pop()
            if screen.is_running and screen.app.is_running:
                for widget, (region, clip) in screen._compositor.visible_widgets.items():
                    if type(widget).render is not Screen.render and type(widget) not in drawn:
                        drawn.add(type(widget))
                        with screen.app._context(), screen._context():
                            widget.render_lines(clip.intersection(region).translate(-region.offset))
            await settle()

    if request.node.get_closest_marker("draws_at_once") is None:
        monkeypatch.setattr(Screen, "_compositor_refresh", draw_later)
        monkeypatch.setattr(Screen, "render", render_over_others)
    monkeypatch.setattr(textual_app, "wait_for_idle", wait)
    monkeypatch.setattr(textual_pilot, "wait_for_idle", wait_and_draw)
    monkeypatch.setattr(Pilot, "_wait_for_screen", wait_for_screen)


@pytest.fixture(autouse=True, scope="session")
def _styles_are_read_once():
    """Let all apps of this process share the rules that are read from equal styles: nothing writes into them."""
    parse_rules, parse, known, read = Stylesheet._parse_rules, Stylesheet.parse, {}, {}

    def parse_rules_once(sheet, *text, **source):
        key = (text, *sorted(source.items()), *sheet._variables.items())
        if key not in known:
            known[key] = parse_rules(sheet, *text, **source)
        return known[key]

    def parse_once(sheet):  # eleven times while an app starts: whenever there is a widget of another class
        key = (*sheet.source.items(), *sheet._variables.items())
        if key not in read:
            parse(sheet)
            read[key] = sheet._rules, sheet.rules_map
        sheet._rules, sheet._rules_map = read[key]
        sheet._require_parse = False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_rules_once)
        patch.setattr(Stylesheet, "parse", parse_once)
        # Each node asks of each rule whether it fits; Textual hashes and compares them by identity too, but in Python.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr(RuleSet, "__eq__", object.__eq__)
        yield


@pytest.fixture(autouse=True, scope="session")
def _parameters_are_counted_once():
    """Let Textual keep how many parameters a method has that a partial calls: it keeps that of all others."""
    count, known = _callback._count_parameters, WeakKeyDictionary()

    def count_once(called):
        function = getattr(called, "__func__", None)
        if function is None:
            return count(called)
        if function not in known:
            known[function] = count(called)
        return known[function]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_callback, "_count_parameters", count_once)
        yield


@pytest.fixture(autouse=True)
def _hand_is_quick(monkeypatch, request):
    """Have keys count at once where a dialog has closed by itself; a test that is about that is marked `slow_hand`."""
    if request.node.get_closest_marker("slow_hand") is None:
        monkeypatch.setattr(KeysInTurn, "PAUSE_S", 0.0)


class AppWorld:
    """A configuration in the test's home."""

    def __init__(self, home):
        self.home = home
        self.config = home / ".config" / "oulipoly-agent-runner"
        self.data = home / ".local" / "share" / "oulipoly-agent-runner"

    def account(self, name, *windows, script="cat", extra=""):
        """Add an account. windows: (label, percent used, hours to its reset); script: what its one-shot runs in sh."""
        self.config.mkdir(parents=True, exist_ok=True)
        now = SystemClock().now()
        entries = [
            {"used_percent": used, "resets_at": to_text(now + timedelta(hours=hours)), "label": label}
            for label, used, hours in windows
        ]
        quota = f"quota_script = {json.dumps('echo ' + shlex.quote(json.dumps({'windows': entries})))}\n"
        text = (
            f"[{name}]\ncommand = 'sh'\nargs = {json.dumps(['-c', script, 'cli'])}\n{quota if windows else ''}{extra}\n"
        )
        with (self.config / "providers.toml").open("a") as file:
            file.write(text)

    def model(self, name, *accounts, extra=""):
        """Add a model with its pool."""
        (self.config / "models").mkdir(parents=True, exist_ok=True)
        members = "".join(f"[[providers]]\nname = '{account}'\n" for account in accounts)
        (self.config / "models" / f"{name}.toml").write_text(extra + members)

    def write(self, name, text):
        """Write a file of the configuration."""
        (self.config / name).parent.mkdir(parents=True, exist_ok=True)
        (self.config / name).write_text(text)


@pytest.fixture
def empty_world(home):
    """A home without any configuration."""
    return AppWorld(home)


@pytest.fixture
def app_world(empty_world):
    """Two models over three accounts: one nearly spent, one at half, one that cannot be read."""
    empty_world.account("ada", ("5h", 94, 1.5), ("weekly", 40, 90))
    empty_world.account("bob", ("5h", 35, 3), ("weekly", 50, 60))
    empty_world.account("cyd")
    empty_world.model("opus", "ada", "bob")
    empty_world.model("mix", "bob", "cyd")
    return empty_world


@pytest.fixture
def running(home):
    """Open the app over the test's home: `async with running((80, 24), read_only=True) as (app, pilot)`.

    panes: the ids of those that there shall be; None: all of them. others: further entries, of a test's own panes.
    toasts: whether what is said is drawn too.
    """

    @asynccontextmanager
    async def run(size=(80, 24), *, waits=True, panes=None, others=(), toasts=False, **options):
        paths = from_environment()
        read_only = options.get("read_only", False)
        options.setdefault("reduced_motion", True)
        chosen = [*(entry for entry in PANES if panes is None or entry.id in panes), *others]
        app = AgentsApp(lambda: open_engine(paths, read_only=read_only), SystemClock().now, Options(**options), chosen)
        app.NOTIFICATION_TIMEOUT = 60.0  # what was said is still there where a busy machine looks late
        async with app.run_test(size=size, notifications=toasts) as pilot:
            try:
                if waits:
                    await settled(pilot, lambda: app.snapshot is not None and not app.busy)
                yield app, pilot
            finally:
                app.exit()
        if app.engine is not None:
            app.engine.close()

    return run


async def settled(pilot, condition):
    """Let the app work until a condition holds; fail when it never does.

    No pilot's pause between two looks: it has each widget of the screen answer, and the screen drawn. Who has waited
    long looks less often: some conditions draw the screen.
    """
    step_s, deadline = _STEP_S, time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() >= deadline:
            pytest.fail("what was waited for did not come; the screen is:\n" + "\n".join(screen_text(pilot.app)))
        await asyncio.sleep(step_s)
        step_s = min(_LONGEST_STEP_S, 1.2 * step_s)
    await pilot.pause()


def screen_text(app):
    """Return what is on the screen, a string a line."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips()]


def check_golden(name, text):
    """Compare with a kept text; AGENTS_GOLDENS=write keeps the new one, to be read in the diff."""
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("AGENTS_GOLDENS") == "write":
        path.write_text(text + "\n")
    assert path.read_text() == text + "\n"


@pytest.fixture(name="settled")
def _settled():
    return settled


@pytest.fixture(name="screen_text")
def _screen_text():
    return screen_text


@pytest.fixture(name="check_golden")
def _check_golden():
    return check_golden


@pytest.fixture
def snapshot_of(tmp_path):
    """Make a snapshot from a configuration folder and what a test puts into a fresh store, at a fixed instant."""

    def make(world, now, fill=None, pins=None):
        store = open_store(tmp_path / "view.db")
        try:
            if fill is not None:
                fill(store)
            paths = from_environment()
            return SnapshotMaker().make(store, Places(paths).read(), pins or {}, now)
        finally:
            store.close()

    return make
