"""What an extension gets as `context`: each thing it asks for is checked against the grants, at each call.

It holds nothing that an extension could not reach by itself: in-process Python is not a sandbox. What is checked here
is what an honest extension does, and what a person can see and withdraw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from oulipoly_engine import variables
from oulipoly_engine.core.extensions.manifest import Permission
from oulipoly_engine.extension_api import PermissionDenied, Session
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.extensions.calls import ExtensionLog

_LARGEST = 32 << 20  # bytes of a file, an answer, an output
# Of the environment, for commands; the last says who has started them.
PLAIN_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", variables.PARENT_INVOCATION)
_KEPT = "is this program's own: nothing but its commands changes it"

Check = Callable[[Permission], None]  # raises PermissionDenied


class Files:
    """`context.fs`: files, within what is allowed."""

    def __init__(self, check: Check, protected: tuple[Path, ...]) -> None:
        """protected: folders in which nothing is written, and of which nothing is read."""
        self._check = check
        self._protected = protected

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises PermissionDenied, OSError."""
        self._check(Permission.FILE_READ)
        return read_regular(self._place(path), _LARGEST)

    def read_text(self, path: str) -> str:
        """Return the text of a file; what is not UTF-8 is replaced. Raises as `read`."""
        return self.read(path).decode("utf-8", "replace")

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder. Raises as `read`."""
        self._check(Permission.FILE_READ)
        return tuple(sorted(each.name for each in self._place(path).iterdir()))

    def write(self, path: str, data: bytes | str) -> None:
        """Write a file whole; a new one is for this user alone. Raises PermissionDenied, OSError."""
        self._check(Permission.FILE_WRITE)
        write_private(self._place(path), data if isinstance(data, bytes) else data.encode("utf-8"))

    def remove(self, path: str) -> None:
        """Remove a file. Raises as `write`."""
        self._check(Permission.FILE_WRITE)
        self._place(path).unlink()

    def _place(self, path: str) -> Path:
        """Return where a path leads, links followed. Raises PermissionDenied for what is ours."""
        place = Path(path).expanduser().resolve()
        if any(place.is_relative_to(folder) for folder in self._protected):
            raise PermissionDenied(f"{place} {_KEPT}")
        return place


class Answer(NamedTuple):
    """What a server has answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Network:
    """`context.net`: HTTP, within what is allowed."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def request(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> Answer:
        """Return what a server answers, whatever its status. Raises PermissionDenied, ValueError, OSError."""
        self._check(Permission.NETWORK)
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"{url[:80]!r} is not an address of http or https")
        from urllib.error import HTTPError  # noqa: PLC0415 - with the next: 60 ms, only who uses the network needs it
        from urllib.request import Request, urlopen  # noqa: PLC0415 - see above

        request = Request(url, body, dict(headers or {}), method=method)  # noqa: S310 - checked above
        try:
            with urlopen(request, timeout=timeout_s) as answer:  # noqa: S310 - as above
                return Answer(answer.status, dict(answer.headers), answer.read(_LARGEST))
        except HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read(_LARGEST))


class Ended(NamedTuple):
    """How a command has ended."""

    exit_code: int | None  # None: it did not start, or was stopped
    stdout: bytes
    stderr: bytes
    problem: str | None  # why it did not end by itself


class Commands:
    """`context.exec`: commands, within what is allowed."""

    def __init__(self, check: Check, has: Callable[[Permission], bool]) -> None:
        self._check = check
        self._has = has

    def run(self, *argv: str, cwd: str | None = None, timeout_s: float = 10.0) -> Ended:
        """Run a command without a shell. It has our environment where that is allowed too, else little of it."""
        self._check(Permission.EXECUTE_COMMAND)
        env = inherited_environment()
        if not self._has(Permission.READ_ENVIRONMENT):
            env = {name: env[name] for name in PLAIN_VARIABLES if name in env}
        folder = None if cwd is None else Path(cwd)
        result = run_script(EXEC, env, timeout_s=timeout_s, arguments=argv, cwd=folder)
        return Ended(result.exit_code, result.stdout, result.stderr, result.problem)


class Environment:
    """`context.env`: environment variables, where that is allowed."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def get(self, name: str, default: str = "") -> str:
        """Return a variable. Raises PermissionDenied."""
        self._check(Permission.READ_ENVIRONMENT)
        return inherited_environment().get(name, default)


class Context(Record):
    """What `on_load` gets."""

    name: str
    fs: Files
    net: Network
    exec: Commands
    env: Environment
    settings: Mapping[str, Any]
    emit: Callable[[str, Mapping[str, Any]], None]  # tells the hook `event` of all extensions
    log: Callable[[str], None]
    find_session: Callable[[], Session]

    @property
    def session(self) -> Session:
        """Return the session of the present call; its texts are empty where there is none."""
        return self.find_session()


def make_log_writer(log: ExtensionLog) -> Callable[[str], None]:
    """Return what writes a line to a log."""
    return lambda text: log.write(f"{text}\n")
