"""Live sessions of the demo's CLIs in the app: hosts of the test's own, and the guard that none is left."""

import asyncio
import contextlib
import os
import signal
import time
from contextlib import asynccontextmanager

import pytest

from oulipoly_demo import world as worlds
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import Numbered
from oulipoly_engine.facade.live.sessions import NewSession
from oulipoly_engine.paths import from_environment
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.protocol import Client
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_events
from oulipoly_tui.app import AgentsApp, Options
from oulipoly_tui.base.table import PANES
from oulipoly_tui.entry import open_engine
from oulipoly_tui.view.live import answer_guard
from oulipoly_tui.widgets.live.composer import Composer
from oulipoly_tui.widgets.live.request_panel import RequestPanel

PATIENCE_S = 60.0  # a loaded machine; nothing waits that long unless a promise is broken
MODEL = "demo-codex"


def numbered(*events, first=1):
    """Return events with their numbers and an instant each."""
    return [
        Numbered(first + place, f"2026-11-22T06:{place // 60 % 60:02}:{place % 60:02}Z", event)
        for place, event in enumerate(events)
    ]


class Live:
    """An app over the demo world, with hands and eyes."""

    def __init__(self, app, pilot, world, paths, screen_text):
        self.app, self.pilot, self.world, self.paths = app, pilot, world, paths
        self._screen_text = screen_text
        self.said = []
        say = app.toasts.say
        app.toasts.say = lambda text, **more: (self.said.append(text), say(text, **more))

    @property
    def pane(self):
        return self.app.frame.find("live")

    @property
    def composer(self):
        return self.pane.query_one(Composer)

    @property
    def panel(self):
        return self.pane.query_one(RequestPanel)

    async def until(self, condition, patience_s=PATIENCE_S):
        """Let the app work until a condition holds; no pilot's pause between two looks, which each widget answers."""
        step_s, end = 0.02, time.monotonic() + patience_s
        while not condition():
            assert time.monotonic() < end, f"what was waited for did not come\n{self.text()}\n{self.said}"
            await asyncio.sleep(step_s)
            step_s = min(0.1, 1.2 * step_s)  # some conditions draw the screen
        await self.pilot.pause()

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def write(self, text):
        """Write a message and send it."""
        await self.focus(self.composer)
        self.composer.put(text)
        await self.press("enter")

    async def focus(self, widget):
        """Give a widget the keys, and return when it has them: a key pressed before would go elsewhere."""
        widget.focus()
        await self.until(lambda: widget.has_focus)

    async def begin(self, model=MODEL, **more):
        """Begin a session and show it."""
        begun = self.app.engine.live.begin(NewSession(self.world.project, model=model, **more))
        await self.open(begun.session.session_id)
        await self.until(lambda: self.pane.talk.is_open)
        return begun.session

    async def open(self, session_id):
        self.app.order("live open", [session_id])
        await self.until(
            lambda: (
                self.pane is not None
                and self.pane.session is not None
                and self.pane.session.session_id == session_id
                and not self.app.busy
            )
        )

    async def asked(self):
        """Wait for a request, and until it was seen long enough to be answered."""
        await self.until(lambda: self.pane.request is not None)
        await self.focus(self.panel)
        await self.pause()

    async def pause(self):
        """Let a hand rest as long as an answer needs."""
        await self.pilot.pause(max(answer_guard.SEEN_S, answer_guard.PAUSE_S) + 0.05)

    def text(self):
        return "\n".join(self._screen_text(self.app))

    async def sees(self, *words):
        def are_seen():
            text = self.text()
            return all(one in text for one in words)

        await self.until(are_seen)


@pytest.fixture
def live_world(tmp_path):
    """The demo world without a past; its environment is ours until the test ends."""
    world = worlds.build(tmp_path / "demo")
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(worlds.environment_for(world, before) | {"DEMO_PACE": "0"})
    paths = from_environment()
    try:
        yield world
    finally:
        _end_all(paths)
        os.environ.clear()
        os.environ.update(before)


def _end_all(paths):
    """End every host, and fail if one is left."""
    living = hosts.survey(paths)
    for one in living:
        with contextlib.suppress(Exception), hosts.connect(paths, one.session_id, Client("a test")) as client:
            client.order(orders.Cancel())
    end = time.monotonic() + PATIENCE_S
    while any(is_alive(one.host_pid) for one in living) and time.monotonic() < end:
        time.sleep(0.02)
    left = [one.host_pid for one in living if is_alive(one.host_pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.fixture
def live(live_world, screen_text):
    """Open the app: `async with live((100, 30)) as one`.

    panes: the ids of those that there shall be. saved: the layout that the last app left.
    """

    @asynccontextmanager
    async def run(size=(100, 30), *, panes=("pools", "repl", "live"), **options):
        paths = from_environment()
        options.setdefault("reduced_motion", True)
        read_only = options.get("read_only", False)
        app = AgentsApp(
            lambda: open_engine(paths, read_only=read_only),
            SystemClock().now,
            Options(reads_quota=False, **options),
            [entry for entry in PANES if entry.id in panes],
        )
        async with app.run_test(size=size, notifications=False) as pilot:
            one = Live(app, pilot, live_world, paths, screen_text)
            try:
                await one.until(lambda: app.snapshot is not None and not app.busy)
                yield one
            finally:
                app.exit()
        if app.engine is not None:
            app.engine.close()

    return run


@pytest.fixture(name="numbered")
def _numbered():
    return numbered


@pytest.fixture
def stored(live_world):
    """Write events of a session straight into the store: `stored(session_id, events)`."""

    def write(session_id, events):
        store = open_store(from_environment().state_db)
        live_events.append(store, session_id, events)
        store.close()

    return write
