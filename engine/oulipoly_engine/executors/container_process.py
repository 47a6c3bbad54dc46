"""A process that holds one container: its stdin, stdout, stderr and exit code are the container's.

    INT, TERM: the container is stopped (INT to its program, the order's grace, KILL) and removed
    TERM, where the container has a name: it runs on, and the next process that holds it finds it by that name
    its end: it is removed, whatever came of it

So what starts a program starts a container by words before the program's. Run as a module: an order as JSON, then the
words. Its environment is the container's, and nothing of it is read here.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from oulipoly_engine.core.agents.containers import (
    AGENT_LABEL,
    FAILED,
    ContainerOrder,
    ContainerOutcome,
    Frames,
    describe_container,
    explain_end,
)
from oulipoly_engine.errors import RunnerError, SpawnFailed
from oulipoly_engine.executors.docker_api import connect, explain, find
from oulipoly_engine.private_files import write_private
from oulipoly_engine.records import prepare

MODULE = "oulipoly_engine.executors.container_process"
_CHUNK = 64 << 10
_FIRST_LOOK_S = 0.01  # how long after the end of its output a container is asked for its exit code; doubles
_LONGEST_LOOK_S = 1.0


class Asked(Exception):
    """A signal has come. Raised by its handler, wherever this process is then."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def holder_words(order: ContainerOrder) -> tuple[str, ...]:
    """Return the words that stand before those of a program to run it in a container."""
    return (sys.executable, "-I", "-m", MODULE, msgspec.json.encode(order).decode())


class Holder:
    """One container from its making to its removal."""

    def __init__(
        self,
        client: Any,  # noqa: ANN401 - docker has no types
        order: ContainerOrder,
        write: Callable[[int, bytes], object],
        stdin: int | None = None,
    ) -> None:
        """write: takes the stream (1: stdout, 2: stderr) and what came of it. stdin: a descriptor; None: no input."""
        self._client = client
        self._order = order
        self._write = write
        self._stdin = stdin
        self._container = ""
        self._stays = False

    def run(self, words: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a program in a container and return its exit code. Raises SpawnFailed where there is none."""
        try:
            return self._run(words, env)
        except OSError as error:
            raise SpawnFailed(f"the container could not be started: {explain(error)}") from error
        except Asked as asked:  # before we had hold of it
            self._stays = self._order.is_adopted and asked.number == signal.SIGTERM
            raise
        finally:
            self._remove()

    def _run(self, words: Sequence[str], env: Mapping[str, str]) -> int:
        is_new = not self._order.is_adopted
        if self._order.name:
            self._find()
        if is_new:
            self._container = self._create(words, env)
        connection = self._attach()
        try:
            if is_new:
                self._client.start(self._container)
            self._note("")  # who waits for this may send signals now, and ask whether it answers
            if is_new and not self._order.name:
                threading.Thread(target=self._feed, args=(connection,), daemon=True).start()
            self._copy(connection)
            return self._await_end()
        except Asked as asked:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._stays = asked.number == signal.SIGTERM and bool(self._order.name)
            if self._stays:
                return 128 + asked.number
            self._stop()
            self._copy(connection)
            return self._await_end()
        except BrokenPipeError:  # nobody reads it any more
            self._stop()
            return 128 + signal.SIGPIPE
        finally:
            connection.close()

    def _find(self) -> None:
        """Take up the container of the order's name, or make room for it; another's stays. Raises SpawnFailed."""
        known = find(self._client.inspect_container, self._order.name)
        if known is not None and known["Config"]["Labels"].get(AGENT_LABEL) != self._order.agent_id:
            raise SpawnFailed(f"there is a container {self._order.name} that is not the agent's: rename it")
        if self._order.is_adopted:
            if known is None or not known["State"]["Running"]:
                raise SpawnFailed("its container has ended meanwhile")
            self._container = known["Id"]
        elif known is not None:
            self._client.remove_container(known["Id"], force=True, v=True)

    def _create(self, words: Sequence[str], env: Mapping[str, str]) -> str:
        document = describe_container(self._order, words, env)
        with _uninterrupted():  # else nobody knew its id
            return str(self._client.create_container_from_config(document, self._order.name or None)["Id"])

    def _attach(self) -> socket.socket:
        """Return a connection to what a container reads and writes, from before it starts."""
        params = {"stdin": int(not self._order.name), "stdout": 1, "stderr": 1, "stream": 1}
        attached = self._client.attach_socket(self._container, params)
        connection = socket.socket(fileno=os.dup(attached.fileno()))
        connection.settimeout(None)
        attached.close()
        return connection

    def _feed(self, connection: socket.socket) -> None:
        """Pass our stdin on to its end, in a thread: a program that does not read hinders nobody."""
        with suppress(OSError):
            while self._stdin is not None and (data := os.read(self._stdin, _CHUNK)):
                connection.sendall(data)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)

    def _copy(self, connection: socket.socket) -> None:
        frames = Frames()
        with suppress(ConnectionResetError):
            while data := connection.recv(_CHUNK):
                for stream, content in frames.feed(data):
                    self._write(stream, content)

    def _stop(self) -> None:
        with suppress(OSError):  # it has ended
            self._client.stop(self._container, timeout=int(self._order.grace_s))

    def _await_end(self) -> int:
        """Return the exit code of a container that ends. `wait` of podman answers a second late."""
        look_s = _FIRST_LOOK_S
        while (state := self._client.inspect_container(self._container)["State"])["Running"]:
            time.sleep(look_s)
            look_s = min(2 * look_s, _LONGEST_LOOK_S)
        self._note(explain_end(state, self._order.plan.limits))
        return int(state["ExitCode"])

    def _remove(self) -> None:
        if self._container and not self._stays:
            with _uninterrupted(), suppress(OSError):
                self._client.remove_container(self._container, force=True, v=True)

    def _note(self, problem: str) -> None:
        note_outcome(self._order, ContainerOutcome(self._container, problem))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Have signals wait for the end of the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def note_outcome(order: ContainerOrder, outcome: ContainerOutcome) -> None:
    """Write down what came of a container, for who started it."""
    if order.outcome:
        write_private(Path(order.outcome), msgspec.json.encode(outcome))


def take_outcome(path: Path) -> ContainerOutcome:
    """Return what came of a container, and remove the file that says so; one that is not there says nothing."""
    try:
        outcome = msgspec.json.decode(path.read_bytes(), type=prepare(ContainerOutcome))
    except (OSError, msgspec.DecodeError):
        return ContainerOutcome()
    path.unlink(missing_ok=True)
    return outcome


def main() -> int:
    """Hold a container to its end."""
    env = dict(os.environ)
    os.environ.clear()  # it is the container's: a proxy in it is not ours
    order = msgspec.json.decode(sys.argv[1].encode(), type=prepare(ContainerOrder))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _raise_asked)
    try:
        return Holder(connect(order.plan.host), order, _write, 0).run(sys.argv[2:], env)
    except RunnerError as error:
        note_outcome(order, ContainerOutcome(problem=error.message))
        os.write(2, f"{error.message}\n".encode())
        return FAILED
    except Asked as asked:
        return 128 + asked.number


def _raise_asked(number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Asked(number)


def _write(stream: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(stream, rest) :]


if __name__ == "__main__":
    code = main()
    os._exit(code)  # a thread may wait for our stdin
