"""A hand that presses keys and notes which row of the table each of them ran; worlds in which every key has work.

A test says with `@pytest.mark.keys("pools.why", "w")` whose effect it asserts; the hand fails it where that row was
never run by that key.
"""

import contextlib
import importlib.util
import json
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from textual.app import App
from textual.screen import ModalScreen

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_tui.actions.action import LISTS
from oulipoly_tui.bars import list_screen_keys
from oulipoly_tui.keys.keymap import TABLE
from oulipoly_tui.keys.names import read_key
from oulipoly_tui.screens.box import ScrollScreen
from oulipoly_tui.screens.settings.key_press import KeyPress
from oulipoly_tui.view.frame import footer
from oulipoly_tui.view.transcript.spans import plain
from oulipoly_tui.widgets.lines import VirtualList

ROOF, DOOR, GONE = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")
_DIALOG, _BOX = 68, 72  # columns for the lower edge of a box at 80
_STEP_S = 0.1
_TIMES = 2  # as long as the other tests wait: a loaded machine
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4


def pytest_configure(config):
    config.addinivalue_line("markers", "keys(identity, *keys): the test asserts what these keys of the row do")


def _beside(name):
    """Load another folder's conftest: its fixtures serve here too."""
    path = Path(__file__).parents[1] / name / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"{name}_of_keys", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_terminals = _beside("terminals")
hosts = _terminals.hosts
repl_world = _terminals.repl_world
alive = _terminals.alive
live_world = _beside("live").live_world
_work = _beside("work")
git = _work.git
repository = _work.repository


def row_of(action, node, key):
    """Return the id of the row of the table that ran; a screen's own keys have the name of its class."""
    if action.startswith("app.press('"):
        return action[len("app.press('") : -2]
    if isinstance(node, ModalScreen):
        return next((kind.__name__ for kind in type(node).__mro__ if (key, action) in _own(kind)), None)
    return next((row.id for row in TABLE if row.where == LISTS and row.method == action), None)


def _own(kind):
    return {(key, one.action) for one in _own_rows(kind) for key in one.key.split(",")}


def _own_rows(kind):
    """Return the bindings of a screen's own class; those that scroll are of each screen that is made to scroll."""
    kinds = () if kind is ScrollScreen else (kind, *(ScrollScreen,) * (ScrollScreen in kind.__bases__))
    return [binding for one in kinds for binding in one.__dict__.get("BINDINGS", ())]


@pytest.fixture(scope="module")
def own_rows():
    """Give the function that returns a screen's own bindings."""
    return _own_rows


def find_wrong_hints(app):
    """Return what a box's lower edge says amiss, and the keys of its screen that nothing tells of at 80 columns."""
    screen = app.screen
    if not isinstance(screen, ModalScreen) or not type(screen).__module__.startswith("oulipoly_tui"):
        return []
    wrong, hinted = [], set()
    for box in screen.query("Vertical"):
        hints = box._border_subtitle  # as it is marked up: the public one is a text
        for span in hints.spans if hints else ():
            words, action = hints.plain[span.start : span.end], str(span.style).removeprefix("@click=")
            key = read_key(words.split()[0].removesuffix(":"))
            hinted.add(key)
            wrong += [] if key is not None and _does(app, key, action) else [(words, action)]
        if hints and len(hints.plain) > (_DIALOG if box.has_class("dialog") else _BOX):
            wrong.append((hints.plain, "is cut at 80 columns"))
    keys = list_screen_keys(screen)
    shown = {one.id for one in footer.hints(keys, 80)}
    wrong += [(one.keys, one.label) for one in keys if one.id not in shown and not hinted & set(one.keys.split(","))]
    return wrong


def _does(app, key, action):
    """Tell whether a key does what a click on its hint does."""
    name = action.removeprefix("screen.")
    if isinstance(app.screen, KeyPress):  # it takes every key before any binding
        return key == "escape"
    bound = {one.action for _, keys in app._binding_chain for one in keys.key_to_bindings.get(key, ())}
    if name.split("(")[0] in {one.removeprefix("screen.").split("(")[0] for one in bound}:
        return True
    return key == "enter" and hasattr(app.screen, f"action_{name.split('(')[0]}")  # what has the keys sends a message


class Hand:
    """What a user has: keys, eyes."""

    def __init__(self, app, pilot, noted, settled, screen_text):
        self.app = app
        self.pilot = pilot
        self.noted = noted
        self._settled = settled
        self._screen_text = screen_text
        self.said = []

    async def press(self, *keys):
        """Press keys one after the other, each on what the one before has left."""
        for key in keys:
            self.noted.key = key
            await self.pilot.press(key)
        self.noted.key = None

    async def copying(self, *keys):
        """Press keys in the copy mode of a terminal, which has no bindings."""
        for key in keys:
            await self.pilot.press(key)
            self.noted.ran.add(("copy mode", key))

    async def type(self, text):
        """Type a text into what has the focus."""
        await self.pilot.press(*("space" if letter == " " else letter for letter in text))

    async def until(self, condition):
        """Let the app work until a condition holds."""
        for _ in range(_TIMES):
            with contextlib.suppress(AssertionError):
                return await self._settled(self.pilot, condition)
        raise AssertionError("\n".join(("what was waited for did not come", self.text, *self.said)))

    async def rest(self):
        """Let the app end what it does."""
        await self.until(lambda: not self.app.busy)

    async def walk(self, *steps):
        """Take steps in one app: each is called with the hand, and what was said before counts no more."""
        for step in steps:
            self.said.clear()
            self.app.toasts.forget()  # what was said a moment ago may be said again
            await step(self)

    async def told(self, words):
        """Wait until a line that holds these words was said."""
        await self.until(lambda: any(words in line for line in self.said))

    async def sees(self, *words):
        """Wait until all these words are on the screen."""

        def shown():
            text = self.text
            return all(word in text for word in words)

        await self.until(shown)

    async def misses(self, words):
        """Wait until these words are no longer on the screen."""
        await self.until(lambda: words not in self.text)

    async def at(self, name):
        """Wait until the screen in front is of this class."""
        await self.until(lambda: type(self.app.screen).__name__ == name)
        await self.until(lambda: not find_wrong_hints(self.app))

    async def back(self):
        """Leave a screen by escape."""
        await self.press("escape")
        await self.at("Frame")

    async def turn_to(self, pane):
        """Give the keys to a pane; those that are being mounted come first."""
        frame = self.app.frame
        await self.until(lambda: all(frame.find(one) in frame._begun for one in frame.area.visible_ids()))
        await frame.turn_to(pane)
        await self.until(lambda: self.app.frame.find(pane) in self.app.frame._begun)

    async def choose(self, part, words):
        """Put the cursor of a pane's list on the row that holds some words."""
        found = self.app.frame.query_one(f"#{part}-list", VirtualList)

        def keys():
            return [row.key for row in found.rows if row.is_selectable and words in plain(row.line)]

        def goes():  # at once: the list may be written anew while we wait
            there = keys()
            return bool(there) and found.go_to(there[0])

        await self.until(goes)
        await self.until(lambda: found.cursor_key in keys())

    async def click(self, words, *, times=1):
        """Click on the first place of the screen that shows these words."""
        await self.sees(words)
        before, place = None, self._place(words)
        while before != place:  # panes that were just turned to are still being laid out
            await self.pilot.pause(_STEP_S)
            before, place = place, self._place(words)
        await self.pilot.click(offset=place, times=times)

    def _place(self, words):
        y = next(y for y, line in enumerate(self.lines) if words in line)
        return self.lines[y].index(words), y

    @property
    def lines(self):
        """Return what is on the screen, a string a line."""
        return self._screen_text(self.app)

    @property
    def text(self):
        """Return what is on the screen."""
        return "\n".join(self.lines)

    @property
    def pane(self):
        """Return the id of the pane that has the keys."""
        return self.app.frame.area.focused_pane

    @property
    def title(self):
        """Return the title of the box in front."""
        box = self.app.screen.query("Vertical").first()
        return str(box.border_title)

    def rows(self, part):
        """Return the rows of a pane's list."""
        return [plain(row.line) for row in self.app.frame.query_one(f"#{part}-list", VirtualList).rows]

    def account(self, name):
        """Return what is known of an account."""
        return self.app.snapshot.account(name)


class _Noted:
    """What the keys of all the apps of one test ran."""

    def __init__(self):
        self.key = None  # that is being pressed
        self.ran = set()  # (row, key)


@pytest.fixture
def noted(request, monkeypatch):
    """Note what each key ran, and hold the test to what it says it asserts."""
    found = _Noted()
    run = App.run_action

    async def run_action(app, action, default_namespace=None, namespaces=None):
        key, did = found.key, await run(app, action, default_namespace, namespaces)
        if did and key is not None and isinstance(action, str):
            found.ran.add((row_of(action, default_namespace, key), key))
        return did

    monkeypatch.setattr(App, "run_action", run_action)
    yield found
    promised = {(mark.args[0], key) for mark in request.node.iter_markers("keys") for key in mark.args[1:]}
    assert set() == promised - found.ran


@pytest.fixture
def hand(running, settled, screen_text, monkeypatch, noted):
    """Open the app and give a hand in it: `async with hand(pane="quota", size=(200, 50), read_only=True) as one`."""
    tell = App.notify
    listening = []

    def notify(app, message, **more):
        for one in listening:
            one.said.append(message)
        tell(app, message, **more)

    monkeypatch.setattr(App, "notify", notify)

    @asynccontextmanager
    async def open_app(pane="pools", size=(160, 44), **options):
        options.setdefault("reads_quota", False)
        async with running(size, **options) as (app, pilot):
            one = Hand(app, pilot, noted, settled, screen_text)
            listening.append(one)
            await one.turn_to(pane)
            await one.rest()
            yield one

    return open_app


class Talk:
    """A Claude transcript that grows entry by turn."""

    def __init__(self, path, session_id, cwd):
        self.id = session_id
        self.path = path
        is_side_chain = "subagents" in str(path)
        self._same = {"cwd": cwd, "sessionId": session_id, "isSidechain": is_side_chain}
        # Of one id only what is read first is kept, and the files of a session are read in any order.
        self._ids = f"{session_id[:8]}-{is_side_chain:04d}-4000-8000"
        self._count = 0
        self._parent = None
        path.parent.mkdir(parents=True, exist_ok=True)

    def go_back_to(self, count):
        """Have the next entry follow on the one of this number, the first one being 1."""
        self._parent = f"{self._ids}-{count:012x}"

    def say(self, role, content, *, minutes_ago=10):
        """Append an entry. content: a text, or blocks."""
        self._count += 1
        uuid = f"{self._ids}-{self._count:012x}"
        message = {
            "role": role,
            "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        }
        if role == "assistant":
            message |= {"id": f"msg_{uuid}", "model": "made-up-1", "type": "message"}
        at = SystemClock().now() - timedelta(minutes=minutes_ago) + timedelta(seconds=self._count)
        own = {"parentUuid": self._parent, "type": role, "message": message, "uuid": uuid}
        self._parent = uuid
        with self.path.open("a") as file:
            file.write(json.dumps({**own, **self._same, "timestamp": to_text(at)[:23] + "Z"}) + "\n")


class Talks:
    """Sessions of eve, who shares a CLI's format with eva."""

    def __init__(self, world):
        self.world = world
        self.root = world.home / ".eve" / "projects"
        for name in ("eve", "eva"):
            self._account(name, world.home / f".{name}" / "projects")
        world.model("talk", "eve")
        self.roof = self.add(ROOF, "/w/alpha")
        self._fill()
        self.door = self.add(DOOR, "/w/beta")
        self.door.say("user", "Paint the door", minutes_ago=5)
        self.door.say("assistant", "Green it is.", minutes_ago=5)

    def add(self, session_id, cwd):
        """Begin a session."""
        return Talk(self.root / cwd.replace("/", "-") / f"{session_id}.jsonl", session_id, cwd)

    def _account(self, name, root):
        root.mkdir(parents=True)
        forks = "fork_args = ['--fork', '{session_id}']\n" if name == "eve" else ""
        self.world.account(
            name,
            extra=f"interactive_args = ['-c', 'echo hello $0 $*; exec cat', '{name}']\n"
            f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n{forks}"
            f"[{name}.session_storage]\nkind = 'script'\nstorage_type = 'claude_code'\n"
            f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n",
        )
        with (self.world.config / "sessions.toml").open("a") as file:
            file.write(f"[{name}]\nturn_script = 'claude-code-turns {root}'\n")

    def _fill(self):
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls roof"}}
        thought = {"type": "thinking", "thinking": "Which tiles?\nThe red ones."}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "tile-one\ntile-two\ntile-three"}
        say = self.roof.say
        for role, content in (
            ("user", "Mend the roof please"),
            ("assistant", [thought, call]),
            ("user", [result]),
            ("assistant", "# Done\n\n- **two** tiles\n\n```python\nprint('roof')\n```\n"),
            ("user", f"The key is {SECRET} and a nail"),
            ("assistant", "One nail is in.\n" + "\n".join(f"step {number}" for number in range(30))),
            ("user", "And the ladder?"),
            ("assistant", "The ladder stands; a last nail."),
        ):
            say(role, content, minutes_ago=60)
        inner = Talk(self.roof.path.with_suffix("") / "subagents" / "agent-abc.jsonl", ROOF, "/w/alpha")
        inner.say("user", "Count the tiles")
        inner.say("assistant", "There are forty")


@pytest.fixture
def talks(app_world):
    """Two sessions of one account: one that has everything in it, one of two entries."""
    return Talks(app_world)


@pytest.fixture
def sessions(talks, hand):
    """Open the app with the list of sessions on the screen and the cursor on the roof's."""

    @asynccontextmanager
    async def open_app(words="Mend the roof", **options):
        async with hand("sessions", **options) as one:
            await one.choose("sessions", words)
            yield one

    return open_app


@pytest.fixture
def transcript(sessions):
    """Open the app with the roof's transcript on the screen, at its end."""

    @asynccontextmanager
    async def open_app(**options):
        async with sessions(**options) as one:
            await one.press("enter")
            await one.until(lambda: one.pane == "transcript")
            await one.sees("a last nail")
            yield one

    return open_app


@pytest.fixture
def no_cli():
    """A PATH without any program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        yield
