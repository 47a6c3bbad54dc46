"""What every test stands on: a home of its own, an unchanged environment, and no child left behind."""

import functools
import gc
import inspect
import itertools
import json
import marshal
import os
import re
import runpy
import select
import selectors
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pexpect
import ptyprocess
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

import oulipoly_engine
import oulipoly_tui
from oulipoly_demo import world as demo_world
from oulipoly_demo.world import Options
from oulipoly_engine.core.images.manifest import BIN_KIND, MANIFEST, Image, Manifest, describe, encode
from oulipoly_engine.core.images.references import parse_reference
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import RequestOpened
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.live.sessions import NewSession
from oulipoly_engine.host import launcher
from oulipoly_engine.paths import from_environment, is_stand_in
from oulipoly_engine.service.images.images import Images
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.base import db

# A third of hypothesis's own number of examples keeps the suite quick; HYPOTHESIS_PROFILE=long looks deeper. How long
# one example takes says nothing on a machine that does other things: neither form is timed.
_UNTIMED = settings(deadline=None, suppress_health_check=(HealthCheck.too_slow,))
settings.register_profile("quick", _UNTIMED, max_examples=30)
settings.register_profile("long", _UNTIMED, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
# Hypothesis reads all our modules in each worker for the constants in them, and draws one of these thousands for one
# value in forty: with few examples none is the one that matters. The long form draws from them.
if os.environ.get("HYPOTHESIS_PROFILE", "quick") == "quick":
    providers._get_local_constants = lambda: providers._local_constants
for _number, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:  # as a shell's `&`, or nohup, has them for all that they start
        signal.signal(_number, _usual)
ROOT = Path(__file__).resolve().parent.parent
# Tests start our command by module, with the checkout's sources first: the same in an editable install and without one.
SOURCES = os.pathsep.join([str(ROOT / "engine"), str(ROOT / "tui")])
_NUMBERS = itertools.count()
_shared = []  # the commands of all forked workers, where there are some
_MOST_WORDS = 100_000  # characters that a forked command is given


# While tests are found, nothing is garbage: Python looked for it among ever more objects.
gc.disable()
WARM = SimpleNamespace(**runpy.run_path(str(ROOT / "tests" / "fixtures" / "warm.py")))


def pytest_collection_finish():
    """Leave the tests themselves, half a million objects, out of each whole collection: a twentieth of a run's work.

    What was garbage by then stays with them: to look for it took half a second in each worker and freed no memory.
    Python's own collections, after 700 new objects each, mostly find widgets of an app that still needs them: they are
    made rarer.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_addoption(parser):
    """Let a whole table be seen as its rows."""
    parser.addoption("--each-row", action="store_true", help="collect each row of a table of tests as a test")


def pytest_ignore_collect(collection_path, config):
    """Leave out a folder all of whose tests have a mark that was not asked for: to import it takes each worker long."""
    return True if collection_path.name in {"browser", "real_cli", "session_files"} & _marks_left_out(config) else None


def _marks_left_out(config):
    """Return the marks whose tests are not asked for."""
    return set(re.findall(r"not (\w+)", config.option.markexpr or ""))


def pytest_pycollect_makeitem(collector, name, obj):
    """Collect a table of plain values as one test: to find, prepare and report each row took longer than its test.

    A table that asks for fixtures stays as many tests, each with its own, unless the rows may share them (the mark
    `rows_share_fixtures`). `--each-row`, or a row that the command line names by its id, shows rows as tests.
    """
    marks = getattr(obj, "pytestmark", [])
    config = collector.config
    if (
        not name.startswith("test_")
        or not inspect.isfunction(obj)
        or inspect.iscoroutinefunction(obj)
        or getattr(obj, "is_hypothesis_test", False)
        or config.getoption("each_row")
        or any("[" in word.partition("::")[2] for word in config.args)
    ):
        return None
    tables = [_rows_of(mark) for mark in marks if mark.name == "parametrize"]
    if not tables or None in tables:
        return None
    rows = [functools.reduce(dict.__or__, parts) for parts in itertools.product(*reversed(tables))]
    signature = inspect.signature(obj)
    asked = [value for argument, value in signature.parameters.items() if rows and argument not in rows[0]]
    if not rows or (asked and all(mark.name != "rows_share_fixtures" for mark in marks)):
        return None

    @functools.wraps(obj)
    def walk(**fixtures):
        __tracebackhide__ = True
        failures, skips = [], []
        for row in rows:
            try:
                obj(**row, **fixtures)
            except pytest.skip.Exception as skip:
                skips.append(skip)
            except (Exception, pytest.fail.Exception) as failure:
                failures.append((row, failure))
        if failures:
            for row, _ in failures:
                failures[0][1].add_note(f"In the row {row!r:.1000}")
            raise failures[0][1]
        if skips:
            raise skips[0]

    walk.__signature__ = signature.replace(parameters=asked)
    walk.pytestmark = [mark for mark in marks if mark.name != "parametrize"]
    return pytest.Function.from_parent(collector, name=name, callobj=walk)


def _rows_of(mark):
    """Return the rows of a table as arguments, or nothing where rows are more than plain values."""
    names, values, *more = mark.args
    if isinstance(names, str):
        is_single = "," not in names
        names = [word.strip() for word in names.split(",") if word.strip()]
    else:
        is_single = False
    rows, of_param = [], type(pytest.param())
    for value in values:
        if isinstance(value, of_param):
            if value.marks:
                return None
            value = value.values
        elif is_single:
            value = (value,)
        rows.append(dict(zip(names, value, strict=True)))
    return None if more or mark.kwargs.keys() - {"ids"} else rows


@contextmanager
def _disk_with_room():
    """Have no disk be nearly full: what a screen tells must not depend on the machine that the tests run on."""
    with pytest.MonkeyPatch.context() as patch:
        usage, many = shutil.disk_usage, 1 << 40
        patch.setattr(shutil, "disk_usage", lambda path: usage(path)._replace(free=many, total=many))
        yield


@contextmanager
def _forked_hosts(commands):
    """Fork the hosts of sessions and terminals: to start one anew takes longer than what a test does with it."""
    subprocess_of_launcher = SimpleNamespace(**vars(subprocess))

    def start(words, **pipes):
        if words[-1].endswith("_host") and commands.can_fork(os.environ):
            return ForkedHost(commands, words)
        return subprocess.Popen(words, **pipes)

    subprocess_of_launcher.Popen = start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launcher, "subprocess", subprocess_of_launcher)
        yield


def _terminate(process, force=False, *, terminate=ptyprocess.PtyProcess.terminate):
    """End a program in a terminal. ptyprocess gives up one that has not ended within 0.1 s after it was killed."""
    if terminate(process, force):
        return True
    if force:
        process.wait()
    return force


@pytest.fixture(autouse=True, scope="session")
def _process_of_tests(commands):
    """Prepare this process for all tests; returns the check of a state file that is not begun with a copy.

    One fixture for all of it, as `_own_home` is: pytest looks up each that is used by itself for each of all tests.
    """
    check = db._check_writable
    with _disk_with_room(), _forked_hosts(commands), pytest.MonkeyPatch.context() as patch:
        patch.setattr(db, "_check_writable", WARM.copied_state_file())
        patch.setattr(ptyprocess.PtyProcess, "terminate", _terminate)
        yield check


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """A folder of the test's own, without pytest's link to the last one: to renew it cost more than the folder."""
    name = re.sub(r"\W", "_", request.node.name)[:24]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_NUMBERS)}"
    path.mkdir(0o700)
    return path


@pytest.fixture(autouse=True)
def _own_home(tmp_path):
    """Give a test a home of its own, and see to it that the environment is as it was when the test is over."""
    home = tmp_path / "home"
    home.mkdir()
    # As bytes: `os.environ` decodes each of fifty variables again at each look, which took half of what pytest does.
    variables = os.environ._data
    outer = variables.copy()
    for name in outer:
        if name.startswith((b"XDG_", b"OULIPOLY_", b"DEMO_")):
            del os.environb[name]
    os.environ |= {"HOME": str(home), "PYTHONPATH": SOURCES}
    before = variables.copy()
    paths = from_environment({"HOME": str(home)})
    yield
    after = variables.copy()
    for name in after.keys() - outer.keys():
        del os.environb[name]
    for name, value in outer.items() - after.items():
        os.environb[name] = value
    for runtime in filter(is_stand_in, (paths.runtime, paths.live_runtime)):  # of this home alone, below /tmp
        shutil.rmtree(runtime, ignore_errors=True)
    assert not {name for name, _ in before.items() ^ after.items()} - {b"PYTEST_CURRENT_TEST"}


@pytest.fixture(autouse=True)
def _no_child_left():
    yield
    with suppress(FileNotFoundError), open(f"/proc/self/task/{os.getpid()}/children") as children:  # noqa: PTH123
        assert children.read().split() == []


@pytest.fixture
def home(tmp_path):
    """The test's home folder."""
    return tmp_path / "home"


class Commands:
    """Runs our command in processes that are forked from one that has imported it (`fixtures/fork_server.py`).

    Such a command takes a third of the processor's time, a host a tenth. Where the interpreter itself would begin in
    another way, it is started as users do.
    """

    def __init__(self):
        self._environment = os.environ | {"PYTHONPATH": SOURCES}
        self._usual = self._of_interpreter(self._environment)
        self._name = f"agents-{os.getpid()}-{os.urandom(4).hex()}"
        self._lock = threading.Lock()
        self._lifeline = None  # the process that commands are forked from ends when nobody has this any longer

    def begin(self):
        """Begin the process that commands are forked from, unless there is one."""
        with self._lock:
            if self._lifeline is None:
                self._lifeline = self._begin()

    def _begin(self):
        ours, theirs = socket.socketpair()
        room = "x" * 30_000  # for the words and the variables of what is forked
        with theirs:
            program = ROOT / "tests" / "fixtures" / "fork_server.py"
            command = [sys.executable, str(program), str(theirs.fileno()), self._name, room]
            subprocess.run(
                command,
                env=self._environment | {"ROOM": room},
                pass_fds=[theirs.fileno()],
                stdin=theirs,  # no file: Python notes at its start whether a stream can be sought in
                stdout=theirs,
                check=True,
            )
        return ours

    def run(self, arguments, stdin, env, cwd, timeout, **more):
        """Run a command to its end."""
        begun = self.start(arguments, env, cwd, feeds=True, **more)
        try:
            stdout, stderr = begun.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            begun.kill()
            raise
        return subprocess.CompletedProcess(begun.args, begun.returncode, stdout, stderr)

    def start(self, arguments, env=None, cwd=None, *, feeds=False, program=(), words=None, **more):
        """Begin a command, or another program in Python; returns it, much like a Popen whose streams are pipes.

        program: how the interpreter is given the program: a file's path, or `-c` and a text.
        """
        env = dict(os.environ) if env is None else env
        arguments, program = [*map(str, arguments)], [*map(str, program or ("-m", "oulipoly_tui"))]
        words = words or [sys.executable, *program, *arguments]
        request = {
            "words": words,
            "program": program,
            "arguments": arguments,
            "env": env,
            "cwd": str(cwd or Path.cwd()),
        }
        if not self.can_fork(env) or sum(map(len, words)) > _MOST_WORDS:
            feeding = subprocess.PIPE if feeds else subprocess.DEVNULL
            streams = {"stdin": feeding, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            return subprocess.Popen(words, env=env, cwd=cwd, bufsize=0, **streams)
        pipes = [os.pipe() for _ in range(4)]
        ours, theirs = zip(pipes[0][::-1], *pipes[1:], strict=True)
        self._send(request | more, theirs)
        forked = Forked(words, *ours)
        if not feeds:
            forked.stdin.close()
        return forked

    def show(self, arguments, env, cwd, dimensions=(24, 80), encoding="utf-8"):
        """Begin a command in a terminal of its own; returns what types to it and reads it. The caller closes that."""
        shown = Shown(
            sys.executable,
            ["-m", "oulipoly_tui", *arguments],
            begin=self._begin_in_terminal if self.can_fork(env) else None,
            env=env,
            cwd=str(cwd),
            encoding=encoding,
            timeout=300,
            dimensions=dimensions,
        )
        shown.delayafterclose = shown.delayafterterminate = shown.ptyproc.delayafterclose = 0
        return shown

    def _begin_in_terminal(self, arguments, env, cwd, dimensions):
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, dimensions)
        reading, told = os.pipe()
        words = [sys.executable, "-m", "oulipoly_tui", *arguments]
        request = {"words": words, "program": words[1:3], "arguments": arguments, "env": env, "cwd": str(cwd)}
        self._send(request | {"has_terminal": True}, [theirs, theirs, theirs, told])
        file = os.fdopen(reading, "rb", buffering=0)  # what is read ahead could not be waited for
        return ForkedTerminal(int(file.readline()), ours, file)

    def write_program(self, path, module="oulipoly_tui"):
        """Write a program that is our command, or another module of ours, for shells and scripts of tests."""
        self.begin()
        source = (ROOT / "tests" / "fixtures" / "forked_command.py").read_text()
        path.parent.mkdir()
        path.write_text(f"#!{sys.executable} -IS\n{source}\n\nrun({self._name!r}, {sys.executable!r}, {module!r})\n")
        path.chmod(0o755)

    def _send(self, request, theirs):
        text = json.dumps(request).encode()
        self.begin()
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(f"\0{self._name}")
            socket.send_fds(server, [b"%8d" % len(text)], theirs)
            server.sendall(text)
        for place in set(theirs):
            os.close(place)

    def can_fork(self, env):
        """Tell whether the interpreter would begin as ours has with these variables."""
        return sys.platform == "linux" and self._of_interpreter(env) == self._usual

    @staticmethod
    def _of_interpreter(env):
        names = ("PYTHON", "COVERAGE_", "LC_", "LANG")
        # The demo world names the folder of a user's own packages, which no virtual environment reads.
        return {name: env[name] for name in env if name.startswith(names) and name != "PYTHONUSERBASE"}

    def close(self):
        """End the process that commands are forked from."""
        if self._lifeline is not None:
            self._lifeline.close()


class Forked:
    """A command that is no child of ours: whoever has forked it tells how it has ended."""

    def __init__(self, args, stdin, stdout, stderr, told):
        self.args, self.returncode = args, None
        # What is read ahead, or kept back, could not be waited for.
        self.stdin = os.fdopen(stdin, "wb", buffering=0)
        self.stdout, self.stderr, self._told = (os.fdopen(one, "rb", buffering=0) for one in (stdout, stderr, told))
        self.pid = int(self._told.readline())

    def send_signal(self, number):
        """Send it a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def poll(self):
        """Return its exit code, None while it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self.returncode = int(self._told.readline())
        return self.returncode

    def terminate(self):
        """Have it end."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout=300):
        """Wait for its end, however much it writes; returns its exit code."""
        self.communicate(timeout=timeout)
        return self.returncode

    def communicate(self, stdin=b"", timeout=300):
        """Say what is said to it, and return all that comes until the ends of its streams."""
        if self._told.closed:
            return b"", b""
        deadline = time.monotonic() + timeout
        streams = (self.stdout, self.stderr, self._told)
        read = {stream: bytearray() for stream in streams}
        with selectors.DefaultSelector() as selector:
            for stream in streams:
                selector.register(stream, selectors.EVENT_READ)
            if not self.stdin.closed:
                os.set_blocking(self.stdin.fileno(), False)
                selector.register(self.stdin, selectors.EVENT_WRITE)
            while (left := selector.get_map()) and time.monotonic() < deadline:
                for key, _ in selector.select(deadline - time.monotonic()):
                    if key.fileobj is self.stdin:
                        try:
                            stdin = stdin[os.write(key.fd, stdin[:65536]) :]
                        except BrokenPipeError:
                            stdin = b""
                        is_over = not stdin
                    else:
                        data = os.read(key.fd, 65536)
                        read[key.fileobj] += data
                        is_over = not data
                    if is_over:
                        selector.unregister(key.fd)
                        key.fileobj.close()
            is_late = bool(left)
        self.close()
        stdout, stderr, told = map(bytes, read.values())
        if is_late:
            raise subprocess.TimeoutExpired(self.args, timeout, stdout, stderr)
        self.returncode = int(told or self.returncode)
        return stdout, stderr

    def close(self):
        """Listen to it no longer."""
        for stream in (self.stdin, self.stdout, self.stderr, self._told):
            stream.close()


class ForkedTerminal(ptyprocess.PtyProcess):
    """The terminal of a command that is no child of ours: whoever has forked it tells how it has ended."""

    def __init__(self, pid, fd, told):
        super().__init__(pid, fd)
        self._told = told

    def isalive(self):
        """Tell whether it lives."""
        if not self.terminated and select.select([self._told], [], [], 0)[0]:
            self.wait()
        return not self.terminated

    def wait(self):
        """Wait for its end; returns its exit status, None after a signal."""
        if not self.terminated:
            code = int(self._told.readline())
            self._told.close()
            self.terminated = True
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return self.exitstatus


class Shown(pexpect.spawn):
    """Our command in a terminal: forked where `begin` is given, else started."""

    def __init__(self, program, words, *, begin, env, **more):
        self._begin, self._arguments = begin, words[2:]
        super().__init__(program, words, env=env, **more)

    def _spawnpty(self, args, *, env, cwd, dimensions, **more):
        if self._begin is None:
            return super()._spawnpty(args, env=env, cwd=cwd, dimensions=dimensions, **more)
        return self._begin(self._arguments, env, cwd, dimensions)


def share():
    """Prepare once what processes that are forked from this one need; returns what they all fork commands from."""
    WARM.import_all(oulipoly_engine)
    WARM.import_all(oulipoly_tui)
    WARM.warm()
    _shared.append(Commands())
    _shared[0].begin()
    return _shared[0]


@pytest.fixture(scope="session")
def commands():
    """What runs our command quickly."""
    if _shared:
        yield _shared[0]
        return
    commands = Commands()
    yield commands
    commands.close()


class ForkedHost:
    """A host that `launcher.launch` starts, as a process that is forked."""

    def __init__(self, commands, words):
        self._commands, self._words = commands, words

    def communicate(self, order, timeout):
        """Give it its order; returns its answer and its complaint."""
        words, env = list(self._words), dict(os.environ)
        done = self._commands.run([], order, env, Path.cwd(), timeout, words=words, host=words[-1])
        return done.stdout, done.stderr


@pytest.fixture
def agents(home, commands):
    """Run our command as a user would and return the finished process, bytes captured."""

    def run(*arguments, stdin=b"", env=None, cwd=None, timeout=300):
        env = dict(os.environ) | {key: str(value) for key, value in (env or {}).items()}
        return commands.run([*map(str, arguments)], stdin, env, cwd or home, timeout)

    return run


class World:
    """A configuration in the test's home, whose CLIs are small shell scripts."""

    def __init__(self, home, run):
        self.config = home / ".config" / "oulipoly-agent-runner"
        self.data = home / ".local" / "share" / "oulipoly-agent-runner"
        self.home = home
        self.run = run
        (self.config / "models").mkdir(parents=True)
        (self.config / "agents").mkdir()

    def account(self, name, script, extra=""):
        """Add an account whose one-shot runs a shell script; the prompt comes on stdin, arguments as `$1` and on."""
        command = ["-c", script, "cli"]
        text = f"[{name}]\ncommand = 'sh'\nargs = {json.dumps(command)}\n{extra}\n"
        with (self.config / "providers.toml").open("a") as file:
            file.write(text)

    def model(self, name, *accounts, extra=""):
        """Add a model with its pool."""
        members = "".join(f"[[providers]]\nname = '{account}'\n" for account in accounts)
        (self.config / "models" / f"{name}.toml").write_text(extra + members)

    def agent(self, name, model, body="Be brief.\n"):
        """Add an agent."""
        (self.config / "agents" / f"{name}.md").write_text(f"---\ndescription: d\nmodel: {model}\n---\n{body}")

    def rows(self, sql, *parameters):
        """Read the state file with SQLite itself."""
        with closing(sqlite3.connect(self.data / "state.db")) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, parameters)]

    def change(self, sql, *parameters):
        """Change the state file with SQLite itself."""
        with closing(sqlite3.connect(self.data / "state.db")) as connection:
            connection.execute(sql, parameters)
            connection.commit()


@pytest.fixture
def world(home, agents):
    """A home with a configuration folder to fill."""
    return World(home, agents)


@functools.cache
def _compile_fixture(name):
    """Return a CLI of tests compiled: Python compiles what is no module anew at each start."""
    path = ROOT / "tests" / "fixtures" / name
    return marshal.dumps(compile(path.read_bytes(), path, "exec"))


class LiveWorld:
    """A demo world whose live sessions are talked to as the app does: through an engine in this process."""

    def __init__(self, demo):
        self.demo, self.root = demo, demo.root.parent
        self.log = self.root / "heard"
        self._engines = []
        self.engine = self.open_engine()
        self.live = self.engine.live

    def open_engine(self):
        """Return a further engine, as another process would have it."""
        self._engines.append(Engine())
        return self._engines[-1]

    def put_program(self, name, text):
        """Have an image `example.com/NAME` here that is a program, as of a tool or a runtime."""
        layer = describe(text.encode(), "application/octet-stream", name)
        config = describe(b"{}", "application/vnd.oci.empty.v1+json")
        manifest = encode(Manifest(2, MANIFEST, BIN_KIND, config, (layer,)))
        image = Image(describe(manifest, MANIFEST), manifest, {layer.digest: text.encode(), config.digest: b"{}"})
        Images(self.engine.paths.images).put(image, parse_reference(f"example.com/{name}"))

    def begin(self, prompt=None, *, runtime="demo-codex1", **more):
        """Begin a session; returns its id."""
        return self.begin_turn(prompt, runtime=runtime, **more)[0]

    def begin_turn(self, prompt=None, *, runtime="demo-codex1", folder=None, **more):
        """Begin a session; returns its id and its first turn's."""
        begun = self.live.begin(NewSession(folder or self.demo.project, runtime=runtime, prompt=prompt, **more))
        return begun.session.session_id, begun.turn_id

    def replayed(self, kind, scene, kill):
        """Add the runtime, of its kind's name, whose CLI says a scene's turn (`fixtures/replayed_cli.py`)."""
        return self.scripted(f"{scene} {kill}", kind, cli="replayed_cli.py", kind=kind)

    def scripted(
        self, mood="", name="scripted", program="", cli="scripted_cli.py", interpreter=sys.executable, **settings
    ):
        """Add or change the runtime whose CLI does what messages say (`fixtures/scripted_cli.py`)."""
        path = self.root / name
        if not program:
            code = path.with_suffix(".code")
            code.write_bytes(_compile_fixture(cli))
            start = f"import marshal\nexec(marshal.loads(open({str(code)!r}, 'rb').read()))"
            path.write_text(f"#!{interpreter} -IS\n{start}\n")
            path.chmod(0o755)
        fields = {"kind": "codex", "program": program or str(path), **settings}
        text = f"\n[runtimes.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())
        text += f"env = {{ SCRIPTED = '{mood}', SCRIPTED_LOG = '{self.log}' }}\n"
        config = self.demo.config / "config.toml"
        before = config.read_text().partition(f"\n[runtimes.{name}]")[0]
        config.write_text(before + text)
        return name

    def echoes(self):
        """Add the runtime whose CLI only reads lines (`fixtures/echo_cli.sh`)."""
        program = ROOT / "tests" / "fixtures" / "echo_cli.sh"
        return self.scripted(name="echoes", program=str(program), kind="plain", marker="END")

    def sums_up(self, answer):
        """Have a model answer when a session is to be summed up (`fixtures/summing_cli.sh`)."""
        program = self.root / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        text = (ROOT / "tests" / "fixtures" / "summing_cli.sh").read_text()
        program.write_text(text.replace('"ANSWER"', json.dumps(answer)))
        program.chmod(0o755)
        with (self.demo.config / "providers.toml").open("a") as file:
            file.write(f"[summer]\ncommand = '{program}'\n")
        (self.demo.config / "models" / "short.toml").write_text("[[providers]]\nname = 'summer'\n")
        settings = self.demo.config / "config.toml"
        settings.write_text(f"compaction_model = 'short'\n{settings.read_text()}")

    def heard(self, method=None):
        """Return what the scripted CLI was told, in order."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        told = [json.loads(line) for line in lines]
        return [one for one in told if method is None or one.get("method") == method]

    def texts(self):
        """Return the messages that began turns of the scripted CLI."""
        return [one["params"]["input"][0]["text"] for one in self.heard("turn/start")]

    @contextmanager
    def attached(self, session, after, engine=None):
        """Yield a connection that follows a session from a number on."""
        with (engine or self.engine).live.connect(session) as client:
            client.follow(after)
            yield client

    def until(self, session, is_it, *, after=0, within_s=300.0):
        """Follow a session until an event that is meant; returns it."""
        deadline = time.monotonic() + within_s
        with self.live.connect(session) as client:
            client.follow(after)
            while True:
                assert time.monotonic() < deadline, self.live.events(session)
                for numbered in client.wait(1.0):
                    if is_it(numbered.event):
                        return numbered.event

    def until_said(self, session, text):
        """Wait until an agent's message is this, or begins so."""
        self.until(
            session, lambda event: text in (getattr(event, "text", ""), getattr(getattr(event, "item", 0), "text", ""))
        )

    def until_closed(self, session):
        """Wait for the end of a session's process; returns all events that are kept."""
        deadline = time.monotonic() + 300
        while self.host_of(session) is not None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return [numbered.event for numbered in self.live.events(session, limit=10_000)]

    def request(self, session):
        """Return the request that a session opens, or has open."""

        def is_open(event):
            if not isinstance(event, RequestOpened):
                return False
            return self.live.find_request(event.request_id).status == "pending"

        return self.live.find_request(self.until(session, is_open).request_id)

    def host_of(self, session):
        """Return the process numbers of a session's living host."""
        living = {host.session_id: host for host in hosts.survey(self.engine.paths)}
        return living.get(session)

    def kill(self, pid):
        """Kill a process of this world; a CLI ends by itself once its host was killed."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def rows(self, sql, *parameters):
        """Read the state file with SQLite itself."""
        with closing(sqlite3.connect(self.engine.paths.state_db)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, parameters)]

    def processes(self):
        """Return the processes that carry this world in their environment, but for ourselves: pid to words."""
        found, mark = {}, str(self.demo.root).encode()
        for pid in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - asked again and again
            if int(pid) == os.getpid():
                continue
            with suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - as above
                    is_ours = mark in file.read()  # none of a process that has ended
                if is_ours:
                    found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def close(self):
        """End all sessions; returns the processes that are left although nobody wants them."""
        for host in hosts.survey(self.engine.paths):
            with suppress(Exception):
                self.live.order(host.session_id, orders.Cancel(), starts=False)
        deadline = time.monotonic() + 300
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.01)
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for engine in self._engines:
            engine.close()
        return left


@pytest.fixture
def live():
    """A demo world for live sessions; no process of it may be left."""
    # No deeper: the path of a socket has 107 bytes at most.
    root = Path(tempfile.mkdtemp(prefix="lv", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp")))
    demo = demo_world.build(root / "w", options=Options(pace_s=0, seeded=False))
    environment = demo_world.environment_for(demo, os.environ) | {"DEMO_PACE": "0"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        # Devices begin sessions below these alone, and tests keep their folders beside the demo's home.
        config = demo.config / "config.toml"
        config.write_text(f'serve_roots = ["{root}"]\n{config.read_text()}')
        world = LiveWorld(demo)
        try:
            yield world
        finally:
            left = world.close()
            shutil.rmtree(root)
    assert left == {}


@functools.cache
def _read_app_client():
    """Return what makes clients of the server's app: to import it takes longer than most tests."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "tests" / "fixtures" / "app_client.py")))


@pytest.fixture
def client_for():
    """Return what makes clients of apps; all ask in one event loop, as with a server, not each request in its own."""
    with _read_app_client().open_clients() as make_client:
        yield make_client


def marker(name, stream):
    """Return the JSON values of every line of a stream that begins with `name=`."""
    prefix = f"{name}=".encode()
    return [json.loads(line[len(prefix) :]) for line in stream.split(b"\n") if line.startswith(prefix)]


@pytest.fixture
def markers():
    """Return the reader of marker lines."""
    return marker
