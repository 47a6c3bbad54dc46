"""Start a host as a detached process, which answers once whether what it holds runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.private_files import make_folder, open_private

_PATIENCE_S = 30.0  # a loaded machine takes a while to start Python
_MODULES = b"oulipoly_engine."
_LOG_LIMIT = 1 << 20
_LOGS_KEPT = 50


def launch(module: str, order: bytes) -> bytes:
    """Run a module as a detached process, give it an order on stdin, and return its answer.

    The module must call `detach` and then `answer`. Raises SpawnFailed when no answer comes.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - our own module
            (sys.executable, "-P", "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise SpawnFailed(f"the host could not be started: {error.strerror or error}") from error
    try:
        answered, complaint = process.communicate(order, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise SpawnFailed(f"the host did not answer within {_PATIENCE_S:.0f} s") from error
    if not answered:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise SpawnFailed(f"the host could not be started: {last or 'it ended without a word'}")
    return answered


def is_host(pid: int) -> bool:
    """Tell whether a process is one that `launch` has started: what it holds outlives whoever wanted it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[1:3] == [b"-P", b"-m"] and words[3:4] != [] and words[3].startswith(_MODULES)


def read_order() -> bytes:
    """Return the order that `launch` gave, in the process that it started."""
    with os.fdopen(0, "rb", closefd=False) as stdin:
        return stdin.read()


def detach(go_on: Callable[[], None]) -> NoReturn:
    """Call a function in a forked child and end this process, so that no parent and no terminal can reach the child."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")  # we may outlive the folder that we were started in
    code = 1
    try:
        go_on()
        code = 0
    except Exception:  # a bug: nobody above us would print it any more
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def answer(data: bytes, log: Path | None) -> None:
    """Answer whoever launched us, and let go of its pipes: our own stderr goes to a log from here on."""
    with contextlib.suppress(OSError):  # it has died meanwhile; what we hold lives
        os.write(1, data)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    target = nothing if log is None else _open_log(log, nothing)
    os.dup2(target, 2)
    for descriptor in {nothing, target}:
        os.close(descriptor)


def trim_log() -> None:
    """Begin our log afresh once it is long."""
    with contextlib.suppress(OSError):  # no regular file
        if os.fstat(2).st_size > _LOG_LIMIT:
            os.ftruncate(2, 0)


def drop_empty_log(log: Path) -> None:
    """Remove a log in which nothing was written."""
    with contextlib.suppress(OSError):
        if log.stat().st_size == 0:
            log.unlink()


def _open_log(log: Path, instead: int) -> int:
    try:
        make_folder(log.parent)
        old = sorted(log.parent.glob("*.log"), key=lambda path: path.stat().st_mtime)
        for path in old[: -_LOGS_KEPT + 1]:
            path.unlink(missing_ok=True)
        return open_private(log, os.O_WRONLY | os.O_APPEND)
    except OSError:
        return instead


def escape_word(word: str) -> str:
    """Return a word of the system's so that JSON takes it."""
    return os.fsencode(word).decode("latin-1")


def unescape_word(word: str) -> str:
    """Return the word that was carried."""
    return os.fsdecode(word.encode("latin-1"))
