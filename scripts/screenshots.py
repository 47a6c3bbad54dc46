#!/usr/bin/env python3
"""Draw the pictures in screenshots/ from the demo world: the same content, clock, sizes and fonts every time.

    scripts/screenshots.py [NAME...]    draw all of them, or some: SVG, and PNG where `resvg_py` is installed
    scripts/screenshots.py --check      draw the SVGs aside; exit 1 and name those that differ from the kept ones

Run it in the development environment. A scene is one small function in SCENES: it presses keys until the screen shows
what it is about.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partialmethod
from pathlib import Path
from typing import Any

from oulipoly_engine.records import Record, field

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "engine"), str(ROOT / "tui")]

from textual._context import visible_screen_stack  # noqa: E402
from textual.screen import Screen  # noqa: E402
from textual.strip import Strip  # noqa: E402
from textual.widgets import Input  # noqa: E402

from oulipoly_demo import world as worlds  # noqa: E402
from oulipoly_demo.past import state  # noqa: E402
from oulipoly_engine.clock import SystemClock  # noqa: E402
from oulipoly_engine.facade.engine import Engine, Surroundings  # noqa: E402
from oulipoly_engine.paths import Paths, from_environment  # noqa: E402
from oulipoly_tui.app import AgentsApp, Options  # noqa: E402

FOLDER = ROOT / "screenshots"
NOW = datetime(2026, 11, 20, 15, 30, tzinfo=UTC)
USUAL, SMALL, WIDE = (120, 36), (80, 24), (200, 50)
_PATIENCE_S = 60.0  # a loaded machine; nothing waits that long unless the picture never comes
_STEP_S = 0.02
_SHORT_PATIENCE_S = 1.0  # after the first picture that has drifted: the check fails already
_LOOK_S, _SAME = 0.1, 3  # a screen that looks the same so often, so far apart, is done
_PNG_WIDTH = 1440
_RANDOM = re.compile(r"terminal-\d+")


class Still(SystemClock):
    """A clock that stands still."""

    def now(self) -> datetime:
        """Return the one instant."""
        return NOW


class Stage(Record, frozen=False):
    """The app while a picture is prepared."""

    app: AgentsApp
    pilot: Any

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until what they began has ended."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self) -> None:
        """Wait for the app's work."""
        await self.until(lambda: self.app.snapshot is not None and not self.app.busy)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition."""
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                message = f"the screen never came to what the scene waits for:\n{self.text()}"
                raise TimeoutError(message)
            await asyncio.sleep(_STEP_S)  # a pilot's pause has each widget answer
        await self.pilot.pause()

    async def home(self) -> None:
        """Go back to the panes."""
        while len(self.app.screen_stack) > 1:
            await self.press("escape")
        await self.settle()

    def text(self) -> str:
        """Return what is on the screen."""
        return "\n".join("".join(segment.text for segment in strip) for strip in self.strips())

    def strips(self) -> list[Strip]:
        """Return the rows of the screen, drawn over what lies beneath."""
        visible_screen_stack.set(self.app._background_screens)
        return self.app.screen._compositor.render_strips()

    async def still(self, kept: str | None, patience_s: float) -> str:
        """Return the picture once it is the kept one, or once the screen has stopped changing where none is kept.

        Some of it is drawn when it is known how large it is, and on a busy machine a program in a terminal rests in the
        middle of what it draws. patience_s: how long the screen has for that.
        """
        end = time.monotonic() + patience_s
        before, same = None, 0
        while True:
            await self.settle()
            self.app.clear_notifications()
            await self.pilot.pause(_LOOK_S)
            now = self.strips()
            same = same + 1 if now == before else 0
            before = now
            if same == (_SAME if kept is None else 0) or time.monotonic() > end:
                picture = normal(self.app.export_screenshot(title="agents"))
                if kept in (None, picture) or time.monotonic() > end:
                    return picture


Act = Callable[[Stage], Awaitable[None]]


class Scene(Record):
    """One picture. Those that follow each other and ask for the same app share it."""

    name: str
    act: Act
    size: tuple[int, int] = USUAL
    options: dict[str, Any] = field(default_factory=dict)
    in_demo: bool = True  # otherwise in a home where nothing is configured
    leaves: tuple[str, ...] = ()  # the keys that lead back to the panes as they were, besides escape
    is_alone: bool = False  # in an app of its own

    @property
    def app(self) -> tuple[object, ...]:
        """Return which app it asks for."""
        return self.size, self.options, self.in_demo, self.is_alone


async def _as_it_opens(stage: Stage) -> None:
    await stage.settle()


async def _why(stage: Stage) -> None:
    await stage.press("1", "w")


async def _what_if(stage: Stage) -> None:
    await stage.press("1", "W")


async def _quota(stage: Stage) -> None:
    await stage.press("2", "home", "down", "down")


async def _quota_week(stage: Stage) -> None:
    await stage.press("2", "home", "down", "down", "right_square_bracket")  # from a day to a week


async def _sessions(stage: Stage) -> None:
    await stage.press("3", "home", "down", "down")


async def _transcript(stage: Stage) -> None:
    await stage.press("3", "home", "down", "enter", "4")


async def _help(stage: Stage) -> None:
    await stage.press("1", "question_mark")


async def _settings(stage: Stage) -> None:
    await stage.press("comma", *["down"] * 3)


async def _trace(stage: Stage) -> None:
    await stage.press("3", "t", "home", "down")


async def _terminal(stage: Stage) -> None:
    await stage.press("1", "r", "enter")
    await stage.until(lambda: "/help" in stage.text())
    await stage.pilot.press(*_keys("list 4 ideas for a turtle"), "enter")
    await stage.until(lambda: all(word in stage.text() for word in ("4. ", " live ")))


def _keys(text: str) -> tuple[str, ...]:
    return tuple("space" if character == " " else character for character in text)


SCENES: Sequence[Scene] = (
    Scene("first-run", _as_it_opens, SMALL, in_demo=False),
    Scene("small", _as_it_opens, SMALL),
    Scene("wide", _transcript, WIDE),
    Scene("light", _transcript, options={"theme": "light"}),
    Scene("high-contrast", _quota, options={"theme": "contrast"}),
    Scene("pools", _as_it_opens),
    Scene("why", _why),
    Scene("what-if", _what_if),
    Scene("help", _help),
    Scene("settings", _settings),
    Scene("quota", _quota),
    Scene("quota-week", _quota_week, leaves=("left_square_bracket", "home")),
    Scene("sessions", _sessions),
    Scene("trace", _trace, leaves=("t",)),
    Scene("transcript", _transcript),
    Scene("terminal", _terminal, is_alone=True),  # the last one: it leaves a reading and an invocation more
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, or compare; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(scene.name for scene in SCENES))
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    options = parser.parse_args(arguments)
    known = {scene.name for scene in SCENES}
    if unknown := set(options.names) - known:
        parser.error(f"there is no scene {', '.join(sorted(unknown))}")
    scenes = [scene for scene in SCENES if not options.names or scene.name in options.names]
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory(prefix="agents-pictures-", ignore_cleanup_errors=True) as scratch:
        pictures = draw(scenes, Path(scratch), read_kept(scene.name for scene in scenes) if options.check else {})
    return check(pictures) if options.check else keep(pictures)


def read_kept(names: Iterable[str]) -> dict[str, str]:
    """Return the SVGs that are kept, by name; of one that is not, the empty text."""
    files = {name: FOLDER / f"{name}.svg" for name in names}
    return {name: file.read_text(encoding="utf-8") if file.exists() else "" for name, file in files.items()}


def draw(scenes: Sequence[Scene], scratch: Path, kept: Mapping[str, str]) -> dict[str, str]:
    """Return the scenes' SVGs by name; everything else happens below `scratch`. kept: what they are to become."""
    before, folder = dict(os.environ), Path.cwd()
    demo = worlds.build(scratch / "demo")
    state.ensure(demo, NOW.timestamp())
    # Nothing lies there, nothing is written there: whoever has no configuration is told where it would be.
    nobody = Path("/home/you")
    fresh = Paths(config=nobody / ".config" / "oulipoly-agent-runner", data=scratch / "fresh", home=nobody)
    environ = {**worlds.environment_for(demo), "TZ": "UTC", "DEMO_NOW": NOW.isoformat(), "COLORTERM": "truecolor"}
    environ |= {"DEMO_PACE": "0", "PYTHONPATH": os.pathsep.join(sys.path[:2])}  # for the terminals' hosts
    pictures: dict[str, str] = {}
    draw_at_once = Screen._compositor_refresh
    Screen._compositor_refresh = partialmethod(_draw_later, draw_at_once)
    os.chdir(demo.home / "work" / "turtle-maps")
    try:
        for _, group in itertools.groupby(scenes, key=lambda scene: scene.app):
            sharing = tuple(group)
            os.environ.clear()
            os.environ.update(environ)
            paths = from_environment() if sharing[0].in_demo else fresh
            asyncio.run(_draw_in_one_app(sharing, paths, kept, pictures))
    finally:
        Screen._compositor_refresh = draw_at_once
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
    for name, picture in pictures.items():
        _refuse_traces(name, picture, scratch)
    if len(set(pictures.values())) < len(pictures):
        names = [name for name, picture in pictures.items() if list(pictures.values()).count(picture) > 1]
        message = f"some of the pictures {', '.join(names)} are the same: a key of one of them does nothing"
        raise ValueError(message)
    return pictures


def _draw_later(screen: Screen[Any], draw_at_once: Callable[[Screen[Any]], None]) -> None:
    """Leave the screen in front to whoever looks at it: half of the work were screens on the way to a picture."""
    if screen is screen.app.screen:
        screen._dirty_widgets.clear()
        screen.app._update_mouse_over(screen)
    else:
        draw_at_once(screen)


async def _draw_in_one_app(
    scenes: Sequence[Scene], paths: Paths, kept: Mapping[str, str], pictures: dict[str, str]
) -> None:
    """Draw scenes one after the other in one app, and add them to `pictures`."""
    clock = Still()
    surroundings = Surroundings(paths=paths, clock=clock)
    wishes = Options(reduced_motion=True, reads_quota=False, **scenes[0].options)
    app = AgentsApp(lambda: Engine(surroundings), clock.now, wishes)
    try:
        async with app.run_test(size=scenes[0].size) as pilot:
            stage = Stage(app, pilot)
            for scene in scenes:
                await stage.home()
                await scene.act(stage)
                for field_ in app.screen.query(Input):
                    field_.cursor_blink = False
                has_drifted = any(kept.get(name, picture) != picture for name, picture in pictures.items())
                patience_s = _SHORT_PATIENCE_S if has_drifted else _PATIENCE_S
                pictures[scene.name] = await stage.still(kept.get(scene.name), patience_s)
                await stage.press(*scene.leaves)
            app.exit()
    finally:
        if app.engine is not None:
            for terminal in app.engine.terminals.list():
                app.engine.terminals.kill(terminal.id)
            app.engine.close()


def normal(picture: str) -> str:
    """Take out of an SVG what differs from one drawing to the next."""
    return _RANDOM.sub("terminal", picture)


def keep(pictures: dict[str, str]) -> int:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
        _write_png(FOLDER / f"{name}.png", picture)
        print(name)
    return 0


def check(pictures: dict[str, str]) -> int:
    """Compare the pictures with the kept ones."""
    drifted = [name for name, kept in read_kept(pictures).items() if kept != pictures[name]]
    for name in drifted:
        print(f"screenshots/{name}.svg is not what the app draws: run scripts/screenshots.py {name}", file=sys.stderr)
    return int(bool(drifted))


def _refuse_traces(name: str, picture: str, scratch: Path) -> None:
    """Fail where a picture tells of the machine that it was drawn on."""
    plain = picture.replace("&#160;", " ")
    for trace in (str(scratch), str(ROOT)):
        if trace in plain:
            message = f"the picture {name} shows {trace}"
            raise ValueError(message)


def _write_png(path: Path, picture: str) -> None:
    with suppress(ImportError):
        import resvg_py  # noqa: PLC0415 - of the development extra, and not there for every platform

        # The pictures name a font of the web; where it is not installed, any other one with a fixed width will do.
        local = re.sub(r"Fira Code", "DejaVu Sans Mono", re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))
        path.write_bytes(
            bytes(resvg_py.svg_to_bytes(svg_string=local, width=_PNG_WIDTH, monospace_family="DejaVu Sans Mono"))
        )


if __name__ == "__main__":
    sys.exit(main())
