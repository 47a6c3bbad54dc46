"""A small world for the app: accounts whose quota scripts print what the test says, a real engine, a Pilot."""

import asyncio
import json
import os
import shlex
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from weakref import WeakKeyDictionary

import pytest
from rich.segment import Segment
from textual import _callback, message_pump
from textual import app as textual_app
from textual import pilot as textual_pilot
from textual._context import visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.renderables.background_screen import BackgroundScreen
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
_texts = WeakKeyDictionary()  # of each app, the screen and its text, until it is to be drawn anew
_are_read = []  # whose text is being read: colours do not matter
_STEP_S, _LONGEST_STEP_S = 0.02, 0.1


@pytest.fixture(autouse=True)
def _idle_is_idle(monkeypatch, request):
    """Have a pilot wait until the app has nothing to do; Textual takes a starved app for idle.

    A screen is drawn where a test looks at it; besides, each kind of widget is drawn once a test, alone: half of what
    these tests ask of the processor were pictures that nobody looks at. A test that is about drawing itself is marked
    `draws_at_once`.
    """
    wait_for_idle, draw, render = textual_pilot.wait_for_idle, Screen._compositor_refresh, Screen.render
    lay_beneath = BackgroundScreen.__rich_console__
    waiting, drawn = set(), set()

    def draw_later(screen):
        _texts.pop(screen.app, None)
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

    def lay_text_beneath(beneath, console, options):
        if not _are_read:
            yield from lay_beneath(beneath, console, options)
            return
        for strip in beneath.screen._compositor.render_strips():
            yield Segment(strip.text)
            yield Segment.line()

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
        monkeypatch.setattr(BackgroundScreen, "__rich_console__", lay_text_beneath)
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


@pytest.fixture(autouse=True, scope="session")
def _handlers_are_found_once():
    """Let Textual keep which methods of a class take a kind of message: it looks them up anew for each message.

    Nor does it make two loggers for each of them, to which nobody listens.
    """
    find, known = MessagePump._get_dispatch_methods, {}

    def find_once(pump, name, message):
        key = type(pump), name, type(message)
        if key not in known:
            known[key] = _list_handlers(*key)
        return find(pump, name, message) if known[key] is None else bind(known[key], pump, message)

    def bind(handlers, pump, message):
        for kind, method in handlers:
            if message._no_default_action:
                break
            function = kind.__dict__[method] if isinstance(method, str) else method  # a test may have put another there
            yield kind, function.__get__(pump, kind)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MessagePump, "_get_dispatch_methods", find_once)
        patch.setattr(message_pump.log.__class__, "event", SimpleNamespace(verbosity=lambda _: lambda *_: None))
        yield


def _list_handlers(kind, name, message):
    """Return the methods that take a message, each with its class; None where that depends on what is in it."""
    kinds = [base for base in message.__mro__ if issubclass(base, Message)]
    handlers, decorated = [], set()
    for base in kind.__mro__:
        rows = base.__dict__.get("_decorated_handlers") or {}
        for function, selectors in (row for each in kinds for row in rows.get(each, ())):
            if selectors:
                return None
            if function not in decorated:
                handlers.append((base, function))
                decorated.add(function)
        method = next((each for each in (f"_{name}", name) if base.__dict__.get(each)), None)
        if method is not None and not getattr(base.__dict__[method], "_textual_on", None):
            handlers.append((base, method))
    return handlers


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
    screen, text = _texts.get(app, (None, []))
    if screen is app.screen and not screen._dirty_widgets:
        return text
    if not app.no_color:  # else colours are looked at besides, and a screen keeps what was laid beneath it
        _are_read.append(app)
    try:
        strips = app.screen._compositor.render_strips()
    finally:
        _are_read.clear()
    text = [strip.text.rstrip() for strip in strips]
    if Screen._compositor_refresh.__module__ == __name__:  # else nobody tells what is to be drawn
        _texts[app] = app.screen, text
    return text


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
