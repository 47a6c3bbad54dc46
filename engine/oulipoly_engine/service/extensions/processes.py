"""Extensions of the tier `process`: a program in a sandbox, asked by JSON-RPC 2.0 in lines on its stdin and stdout.

| it is asked | params                                     | result                                                |
|-------------|--------------------------------------------|-------------------------------------------------------|
| hello       | protocol (1), name, settings, granted      | {protocol: 1}                                         |
| hook        | hook, facts, session                       | null, {transform: TEXT} or {handled: TEXT}            |
| tool        | tool, arguments                            | anything                                              |
| command     | command, words                             | {transform: TEXT} or {handled: TEXT}                  |

The error code 1 says that it refuses, or was denied something; any other is a failure. While it is asked it may ask
for `exec` (argv, cwd, timeout_s). What it writes to stderr is its log. One that says what is no message, too much, or
nothing any more is ended, and started anew at the next call.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any

import oulipoly_engine
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.table import CLIS, recognise_cli
from oulipoly_engine.core.boxes.box import Box, Level
from oulipoly_engine.core.extensions.installed import Installed
from oulipoly_engine.core.extensions.manifest import Manifest, Permission
from oulipoly_engine.core.extensions.sandbox import KEYS, make_box, sandbox_environment
from oulipoly_engine.core.text.lines import LineSplitter, Oversized
from oulipoly_engine.drivers.jsonrpc import (
    UNKNOWN_METHOD,
    Endpoint,
    Failure,
    Json,
    Notification,
    ServerRequest,
    Undecodable,
)
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.extension_api import Handled, Refused, Session, Transform
from oulipoly_engine.host.loop import READ, WRITE, Loop
from oulipoly_engine.process.boxes.machine import find_level
from oulipoly_engine.process.command import Command, describe_exit, inherited_environment
from oulipoly_engine.process.piped import PipedProcess
from oulipoly_engine.records import Record
from oulipoly_engine.service.extensions import hookspecs
from oulipoly_engine.service.extensions.brokers import Commands
from oulipoly_engine.service.extensions.calls import CallFailed, ExtensionLog

Emit = Callable[[str, Mapping[str, Any]], object]

PROTOCOL = 1
_DENIED = 1  # error code of a refusal
_LONGEST_LINE = 4 << 20  # bytes
_LONGEST_COMMAND_S = 60.0
_MOST_LINES = 10_000  # that are no answer, in one call
_LADDER = ((signal.SIGKILL, 2.0),)  # it holds nothing that would have to be put in order
_RUNNER = "oulipoly_engine.service.extensions.runner"


class Confinement(Record):
    """What the sandboxes of all extensions have in common."""

    home: Path
    hidden: tuple[Path, ...]  # below the user's files, what no extension sees: logins, keys, our own


def find_obstacle() -> str:
    """Return why no extension of this tier can be started here, and what to do; empty: nothing hinders."""
    return find_level(Level.SEALED).obstacle


def confine(installed: Installed, granted: frozenset[str], confinement: Confinement, argv: tuple[str, ...]) -> Command:
    """Return a program of an extension in its sandbox."""
    home = str(confinement.home.resolve())
    environment = sandbox_environment(granted, inherited_environment(), home)
    return Command(argv, environment, cwd=Path("/"), box=_make_box(installed, granted, confinement))


class ProcessExtension:
    """One extension, whose program runs from here on. One call at a time."""

    def __init__(
        self, installed: Installed, granted: frozenset[str], confinement: Confinement, log: ExtensionLog, emit: Emit
    ) -> None:
        """Start its program. emit: takes what it tells other extensions, a topic and facts. Raises CallFailed."""
        self.granted = granted
        self.has_ended = False
        self._log = log
        self._emit = emit
        self._endpoint = Endpoint(has_version=True)
        self._lines = LineSplitter(_LONGEST_LINE)
        self._noise = 0
        self._unwritten = bytearray()
        try:
            self._process = PipedProcess(confine(installed, granted, confinement, _argv(installed)))
        except RunnerError as error:
            raise CallFailed(error.message) from error

    def greet(self, name: str, settings: Mapping[str, Any]) -> None:
        """Say who it is and what it may do. Raises CallFailed."""
        params = {"protocol": PROTOCOL, "name": name, "settings": settings, "granted": sorted(self.granted)}
        answer = self._ask("hello", params)
        if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
            raise CallFailed(f"it does not speak version {PROTOCOL} of the protocol")

    def call_hook(self, hook: str, facts: Mapping[str, Any], session: Session) -> Transform | Handled | None:
        """Return what a hook answers. Raises CallFailed and Refused, as the next two."""
        return _read_answer(self._ask("hook", {"hook": hook, "facts": facts, "session": session._asdict()}))

    def call_tool(self, tool: str, arguments: Mapping[str, Any]) -> Json:
        """Return what a tool answers."""
        return self._ask("tool", {"tool": tool, "arguments": arguments})

    def run_command(self, command: str, words: str) -> Transform | Handled | None:
        """Return what a slash command answers."""
        return _read_answer(self._ask("command", {"command": command, "words": words}))

    def kill(self) -> None:
        """End its program at once, from any thread; a call that waits for it fails."""
        self._process.send(signal.SIGKILL)

    def close(self) -> None:
        """End its program, where no call waits for it."""
        self.has_ended = True
        self._process.stop(_LADDER)

    def _ask(self, method: str, params: Mapping[str, Any]) -> Json:
        settled: list[tuple[Json, Failure | None]] = []
        self._endpoint.request(method, params, lambda result, failure: settled.append((result, failure)), None)
        self._noise = 0
        try:
            self._exchange(lambda: bool(settled))
        except CallFailed:
            self.close()
            raise
        result, failure = settled[0]
        if failure is None:
            return result
        if failure.kind == "native" and failure.code == _DENIED:
            raise Refused(failure.message or "it gave no reason")
        raise CallFailed(failure.message)

    def _exchange(self, is_over: Callable[[], bool]) -> None:
        """Write and read until the answer is there. Raises CallFailed."""
        self._unwritten += self._endpoint.take()
        with Loop() as loop:
            loop.watch(self._process.stdout, READ, self._read)
            loop.watch(self._process.stderr, READ, lambda: self._read_log(loop))
            while not is_over():
                loop.watch(self._process.stdin, WRITE if self._unwritten else 0, self._write)
                loop.turn(None)
                self._unwritten += self._endpoint.take()  # answers that have gathered
            self._read_log(loop)  # what it has printed before its answer

    def _write(self) -> None:
        try:
            count = self._process.write(self._unwritten)
        except OSError as error:
            raise CallFailed(self._describe_end()) from error
        del self._unwritten[:count]

    def _read(self) -> None:
        data = self._process.read(self._process.stdout)
        if data == b"":
            raise CallFailed(self._describe_end())
        for line in self._lines.feed(data or b""):
            if isinstance(line, Oversized):
                raise CallFailed(f"it wrote a line of {line.length >> 20} MiB")
            self._take(self._endpoint.receive(line))

    def _take(self, received: object) -> None:
        if received is not None:
            self._noise += 1
        match received:
            case Notification(method="emit", params={"topic": str(topic), "body": dict(body)}):
                self._emit(topic, body)
            case Undecodable(text=text) if text:
                raise CallFailed(f"it wrote what is not a message: {text[:80]!r}")
            case ServerRequest(method="exec") as asked:
                self._execute(asked)
            case ServerRequest() as asked:
                self._endpoint.refuse(asked.id, UNKNOWN_METHOD, "this cannot be asked for")
        if self._noise > _MOST_LINES:
            raise CallFailed(f"it wrote more than {_MOST_LINES} lines in one call")

    def _read_log(self, loop: Loop) -> None:
        data = self._process.read(self._process.stderr)
        if data:
            self._log.write(data.decode("utf-8", "replace"))
        elif data == b"":
            loop.forget(self._process.stderr)

    def _execute(self, asked: ServerRequest) -> None:
        """Run a command outside the sandbox, where that was allowed."""
        argv = asked.params.get("argv")
        if Permission.EXECUTE_COMMAND not in self.granted:
            self._endpoint.refuse(asked.id, _DENIED, f"it is not allowed to {Permission.EXECUTE_COMMAND.right}")
            return
        if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
            self._endpoint.refuse(asked.id, _DENIED, "`argv` has to be a list of texts")
            return
        commands = Commands(lambda _permission: None, lambda permission: permission in self.granted)
        cwd = asked.params.get("cwd")
        limit = asked.params.get("timeout_s")
        ended = commands.run(
            *argv,
            cwd=cwd if isinstance(cwd, str) else None,
            timeout_s=min(float(limit), _LONGEST_COMMAND_S) if isinstance(limit, int | float) else 10.0,
        )
        result = {
            "exit_code": ended.exit_code,
            "stdout": ended.stdout.decode("utf-8", "replace"),
            "stderr": ended.stderr.decode("utf-8", "replace"),
            "problem": ended.problem,
        }
        self._endpoint.answer(asked.id, result)

    def _describe_end(self) -> str:
        """Return how its program has ended, with the last line that it or the sandbox wrote."""
        self._process.stop(_LADDER)
        code = self._process.poll()
        return f"its program {describe_exit(code)}" if code is not None else "its program does not answer any more"


class StandIn:
    """An extension in a process, as if it were one in this program: its hooks, tools and commands."""

    def __init__(self, manifest: Manifest, process: ProcessExtension) -> None:
        self.tools = {tool.name: partial(process.call_tool, tool.name) for tool in manifest.tools}
        self.commands = {command.name: partial(process.run_command, command.name) for command in manifest.commands}
        for hook in manifest.hooks:
            setattr(self, hook, _make_hook(process, hook))


def _make_hook(process: ProcessExtension, hook: str) -> Callable[..., object]:
    names = hookspecs.names_of(hook)

    @wraps(hookspecs.spec_of(hook))  # pluggy reads the names of its arguments there
    def call(*values: Any) -> object:  # noqa: ANN401 - a hook's
        facts = dict(zip(names, values, strict=True))
        session = facts.pop("session", Session())
        return process.call_hook(hook, facts, session)

    return call


def _read_answer(answer: Json) -> Transform | Handled | None:
    match answer:
        case {"transform": str(text)}:
            return Transform(text)
        case {"handled": str(text)}:
            return Handled(text)
        case None:
            return None
    raise CallFailed(f"it answered what is not an answer: {str(answer)[:80]}")


def _argv(installed: Installed) -> tuple[str, ...]:
    manifest = installed.manifest
    if not manifest.command:
        entry = manifest.entry
        if installed.source != "installed" and not Path(installed.place).is_dir():
            entry = f"{Path(installed.place).name}:{entry.partition(':')[2]}"
        return (sys.executable, "-I", "-m", _RUNNER, entry)
    program, *arguments = manifest.command
    if "/" in program:
        program = str(Path(installed.place) / program)
    return (program, *arguments)


def list_hidden(accounts: Iterable[Account], home: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return what no sandbox shows of a user's files: logins of all accounts and CLIs, and keys."""
    places = [home / name for name in KEYS]
    for cli in CLIS.values():
        places.append(home / cli.place.default)
        places += (home / location.default for servers in cli.mcp for location in servers.files)
    for account in accounts:
        account_cli = recognise_cli(account, home, environ)
        places += () if account_cli is None else (account_cli.folder,)
        places += (Path(value) for value in account.environment.values() if value.startswith("/"))
    resolved = dict.fromkeys(place.resolve() for place in places)
    return tuple(place for place in resolved if not home.is_relative_to(place))


def _make_box(installed: Installed, granted: frozenset[str], confinement: Confinement) -> Box:
    place = Path(installed.place)
    start = place if place.is_dir() else place.parent
    reads = () if installed.manifest.command else _list_python()
    home = confinement.home.resolve()  # as what is hidden below it: a link would lead around that
    entries = [path for path in _list_folder(home) if path not in confinement.hidden]
    files = (*(path for path in entries if not path.is_symlink()), *_workspace(home))
    inside = [path for path in confinement.hidden if any(path.is_relative_to(each) for each in files)]
    # A file goes with its folder: one that is put in its place would be seen.
    hidden = {path if path.is_dir() else path.parent for path in inside if path.exists()}
    return make_box(
        granted,
        str(place),
        str(start),
        reads=map(str, reads),
        home=str(home),
        files=map(str, files),
        links=((str(path), str(path.readlink())) for path in entries if path.is_symlink()),
        hidden=map(str, sorted(hidden)),
    )


def _list_folder(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _list_python() -> Iterable[Path]:
    """Return the folders that our Python and this program need."""
    package = Path(oulipoly_engine.__file__).parent
    return dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), package))


def _workspace(home: Path) -> tuple[Path, ...]:
    """Return the folder in which we work, where it lies beside the home."""
    folder = Path(os.getcwd())  # noqa: PTH109 - as the kernel has it
    if folder.is_relative_to(home) or home.is_relative_to(folder):
        return ()
    return (folder,)
