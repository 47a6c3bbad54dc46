"""Whole screens as a user sees them: a world whose past ends at a fixed instant, a clock that stands, kept texts."""

import difflib
import importlib.util
import os
import random
import re
import shutil
import string
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from textual._context import visible_screen_stack
from textual.filter import Monochrome

from oulipoly_demo import world as worlds
from oulipoly_demo.past import state
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_tui.app import AgentsApp, Options

GOLDENS = Path(__file__).parent / "goldens"
WRITES = os.environ.get("AGENTS_GOLDENS") == "write"
SIZES = ((200, 50), (80, 24), (60, 20))
_SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "screenshots.py"
_SHOWN_DIFFERENCES = 3
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
_PATIENCE_S, _SHORT_PATIENCE_S = 60.0, 1.0  # until the first difference, and after it: the walk fails already
_LOOK_S = 0.02
_BREAK = r"(?:[^\w\n/]*\n[^\w\n/-]*)?"  # where a box breaks a line, with its edges
_CHAIN = re.compile(r"(id +)([0-9a-f-]{36})")  # a session's own id is drawn by lot
_SAME = 8  # looks: what is written down must have come to rest


def _script():
    """Return the pictures' script, which drives the same app over the same world."""
    spec = importlib.util.spec_from_file_location("screenshots_for_texts", _SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


PICTURES = _script()


class Walk:
    """One app that is led from screen to screen; every difference to the kept texts is gathered, none ends the walk."""

    def __init__(self, app, pilot, root, name, sizes, screen_text):
        self.app = app
        self.pilot = pilot
        self.stage = PICTURES.Stage(app, pilot)
        self._screen_text = screen_text
        self.root = root
        self.name = name
        self.sizes = sizes
        self.differences = []
        self.coloured = []
        self.faint = []

    @property
    def engine(self):
        """Return the app's engine."""
        return self.app.engine

    async def press(self, *keys):
        """Press keys, each when the last one's work is done."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self):
        """Wait until the app has data and nothing is under way."""
        end = time.monotonic() + _PATIENCE_S
        while self.app.snapshot is None or self.app.busy:
            assert time.monotonic() < end, "the app's work never ended"
            await self.pilot.pause(_LOOK_S)

    async def type(self, text):
        """Type a text."""
        await self.pilot.press(*("space" if letter == " " else letter for letter in text))
        await self.settle()

    async def until(self, *shown):
        """Wait for words on the screen."""

        def is_shown():
            text = self.text()
            return all(words in text for words in shown)

        await self.stage.until(is_shown)

    async def home(self):
        """Go back to the panes."""
        while len(self.app.screen_stack) > 1:
            self.app.screen.dismiss()
            await self.pilot.pause()
        self.app.clear_notifications()
        await self.settle()

    def text(self):
        """Return what is on the screen; the folder that the test works in reads as one that anybody could have."""
        text = "\n".join(self._screen_text(self.app))
        text = _masked(text, re.escape(str(self.root.parent)) + _BREAK + "/" + _BREAK + _broken(self.root.name), "~")
        text = _masked(text, _broken(self.root.name), "~")
        text = _masked(text, r"/tmp(?:/t(?:-[a-z]*)?)?(?=…)", "~")  # the beginning of it, at the end of what fits
        text = _masked(text, r"(?<!\w)" + _BREAK.join(["[0-9a-f]"] * 64), "f")  # of what names the folder
        text = _masked(text, r"(?<=sha256 )[0-9a-f]{16}", "f")
        return _CHAIN.sub(lambda found: found[1] + "c" * len(found[2]), text) + "\n"

    async def resize(self, size):
        """Give the app a size, columns by lines."""
        if self.app.size != size:
            await self.pilot.resize_terminal(*size)

    async def look(self, name, *, toasts=False, only=None):
        """Compare the screen, or one widget of it, with the kept text at each size; toasts: they belong to it."""
        for size in self.sizes:
            await self.resize(size)
            await self._compare(name, toasts=toasts, only=only)
        await self.resize(self.sizes[0])

    async def look_anew(self, name, *keys):
        """Compare what keys open at each size, in a dialog that keeps the width with which it was opened."""
        for size in self.sizes:
            await self.resize(size)
            await self.press(*keys)
            await self._compare(name)
            await self.home()

    async def _compare(self, name, *, toasts=False, only=None):
        path = GOLDENS / "{}-{}x{}".format(self.name, *self.app.size) / f"{name}.txt"
        kept = path.read_text() if path.exists() and not WRITES else None
        text = await self._rest(kept, toasts=toasts, only=only)
        if self.app.no_color:
            self.coloured += [f"{name}: {found}" for found in self._colours()]
            self._paint(no_color=False)
            self.faint += [f"{name}: {found}" for found in self._faint_texts()]
            self._paint(no_color=True)
        if WRITES:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif text != kept:
            found = difflib.unified_diff((kept or "").split("\n"), text.split("\n"), "kept", "now", n=1, lineterm="")
            self.differences.append(f"{path.parent.name}/{path.name}\n" + "\n".join(found))

    async def _rest(self, kept, *, toasts, only):
        """Return the screen once it rests; while it is not as it was kept, it gets time to become so."""
        end = time.monotonic() + (_SHORT_PATIENCE_S if self.differences else _PATIENCE_S)
        before, same = "", 0
        while True:
            if not toasts:
                self.app.clear_notifications()
            await self.pilot.pause(_LOOK_S)
            now = self.text() if only is None else self._part(only)
            same = same + 1 if now == before and not self.app.busy else 0
            before = now
            is_kept = now == kept and not self.app.busy
            if is_kept or (same >= _SAME and kept is None) or time.monotonic() > end:
                return now

    def _part(self, widget):
        region = self.app.screen.query_one(widget).region
        lines = self.text().split("\n")[region.y : region.bottom]
        return "".join(f"{line[region.x : region.right].rstrip()}\n" for line in lines)

    def _paint(self, *, no_color):
        """Have everything drawn anew, with colours or without, over the screens that lie beneath."""
        visible_screen_stack.set(self.app._background_screens)
        self.app.no_color = no_color
        for line_filter in self.app._filters:
            line_filter.enabled = no_color or not isinstance(line_filter, Monochrome)
        for screen in self.app.screen_stack:
            for widget in (screen, *screen.walk_children()):
                widget._styles_cache.clear()

    def _colours(self):
        """Yield what is drawn in a colour: greys are none."""
        for strip in self.app.screen._compositor.render_strips():
            for text, style, _ in strip:
                for colour in (style.color, style.bgcolor) if style is not None else ():
                    if colour is not None and len(set(colour.get_truecolor())) > 1:
                        yield f"{text!r} in {colour.name}"

    def _faint_texts(self):
        """Yield the texts that stand out too little from their ground; lines and bars are none."""
        for strip in self.app.screen._compositor.render_strips():
            for text, style, _ in strip:
                if any(sign.isalnum() for sign in text) and contrast(style) < LEAST_CONTRAST:
                    yield f"{text.strip()!r} {contrast(style):.1f}: {style.color.name} on {style.bgcolor.name}"

    def close(self):
        """Fail where a screen was not as it was kept, or has a colour where there shall be none."""
        assert not self.faint, "\n".join(dict.fromkeys(self.faint))
        assert not self.coloured, self.coloured[:_SHOWN_DIFFERENCES]
        count = len(self.differences)
        shown = "\n\n".join(self.differences[:_SHOWN_DIFFERENCES])
        assert not count, f"{count} screens differ (AGENTS_GOLDENS=write keeps what they are now):\n{shown}"


def luminance(colour):
    """Return WCAG's relative luminance."""
    shares = (value / 255 for value in colour.get_truecolor())
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(style):
    """Return WCAG's ratio of what a style draws, 1..21."""
    dark, light = sorted((luminance(style.color), luminance(style.bgcolor)))
    return (light + 0.05) / (dark + 0.05)


def _broken(text):
    """Return an expression for a text that may go on in the next line of a box."""
    return _BREAK.join(map(re.escape, text))


def _masked(text, pattern, sign):
    """Put a sign in the place of each letter of what differs from run to run; the layout stays."""
    return re.sub(pattern, lambda found: re.sub(r"[\w/-]", sign, found[0]), text)


@pytest.fixture
def scratch():
    """Return a folder whose path is as long in every run: texts are laid out by it."""
    while True:  # without signs that the CLIs write differently where they name a folder for a path
        folder = Path("/tmp/t-" + "".join(random.choices(string.ascii_lowercase, k=8)))
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            break
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def demo(scratch):
    """Return the demo world with its past, which ends at the pictures' instant."""
    world = worlds.build(scratch / "demo")
    state.ensure(world, PICTURES.NOW.timestamp())
    return world


@pytest.fixture
def walking(scratch, screen_text):
    """Open the app for a walk: `async with walking(world, "name of the goldens' folders") as walk`.

    sizes: at which each screen is looked at, the first one being what the app opens at.
    world: a demo world, or a folder that is the home of somebody who has nothing.
    """

    @asynccontextmanager
    async def walk(world, name, *, sizes=SIZES, environ=None, **options):
        before, folder = dict(os.environ), Path.cwd()
        os.environ.clear()
        os.environ.update(_environment(world, before) | (environ or {}))
        time.tzset()
        os.chdir(world.home / "work" / "turtle-maps" if isinstance(world, worlds.World) else world)
        clock = PICTURES.Still()
        surroundings = Surroundings(paths=from_environment(), clock=clock)
        wishes = Options(reduced_motion=True, reads_quota=False, **options)
        app = AgentsApp(lambda: Engine(surroundings), clock.now, wishes)
        app.NOTIFICATION_TIMEOUT = 3600  # a toast is looked at, however slow the machine is
        try:
            async with app.run_test(size=sizes[0], notifications=True) as pilot:
                led = Walk(app, pilot, scratch, name, sizes, screen_text)
                try:
                    await led.stage.settle()
                    yield led
                finally:
                    app.exit()
        finally:
            if app.engine is not None:
                for terminal in app.engine.terminals.list():
                    app.engine.terminals.kill(terminal.id)
                app.engine.close()
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
            time.tzset()
        led.close()

    return walk


def _environment(world, before):
    fixed = {"TZ": "UTC", "COLORTERM": "truecolor", "DEMO_PACE": "0", "DEMO_NOW": PICTURES.NOW.isoformat()}
    if isinstance(world, worlds.World):
        return {**worlds.environment_for(world, before), **fixed}
    plain = {name: value for name, value in before.items() if not name.startswith(("XDG_", "OULIPOLY_"))}
    return {**plain, "HOME": str(world), "PATH": os.defpath, **fixed}
