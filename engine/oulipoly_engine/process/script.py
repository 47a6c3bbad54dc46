"""Run an adapter script: `sh -c`, nothing on stdin, a time limit, a size limit, its whole group ended with it."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.command import Command, describe_exit, watched
from oulipoly_engine.process.spawn import DEVNULL, boxed_words, spawn
from oulipoly_engine.process.stop import TERM_LADDER, group_lives, stop, stopped_with_us
from oulipoly_engine.records import Record
from oulipoly_engine.stopping import is_asked

if TYPE_CHECKING:
    from oulipoly_engine.core.boxes.box import Box

EXEC = 'exec "$@"'  # the line that runs its arguments, read by no shell
_OUTPUT_LIMIT = 4 << 20  # bytes of stdout; the largest sane quota answer is a few kilobytes
_CHUNK = 64 << 10
_WAS_STOPPED = "was stopped"


class ScriptResult(Record):
    """What a script did."""

    exit_code: int | None  # None: it never started, or was stopped; minus the signal's number if one killed it
    stdout: bytes
    stderr: bytes
    problem: str | None  # "timed out after 30 s", "printed more than …", "could not be started: …"; None: it ended
    duration_s: float

    @property
    def succeeded(self) -> bool:
        """Return whether it ended by itself with 0."""
        return self.problem is None and self.exit_code == 0

    @property
    def outcome(self) -> str:
        """Say how it ended in a few words."""
        return self.problem if self.problem is not None else describe_exit(self.exit_code or 0)


def run_script(
    line: str,
    env: Mapping[str, str],
    *,
    timeout_s: float,
    arguments: tuple[str, ...] = (),
    cwd: Path | None = None,
    output_limit: int = _OUTPUT_LIMIT,
    cancelled: Callable[[], bool] = lambda: False,
    keeps: tuple[int, ...] = (),
    ends_with_us: bool = True,
    patience_s: float = 0.0,
    box: Box | None = None,
) -> ScriptResult:
    """Run a shell line to its end, its limit or its limit of output.

    arguments: become `$1`, `$2` … of the line. Never raises for what the script does.
    keeps: descriptors that it holds as well, a lock's for example.
    ends_with_us: it is stopped if we are killed; false: it works on to its end. box: what it reaches.
    patience_s: for its end by itself, before it is stopped for anything but a limit: where a signal may do harm.
    It ends where the work of this thread shall stop (`stopping`). cancelled: asked a few times a second; true ends it.
    """
    # The contract says sh; a shell of our own that becomes the program would do no more.
    argv = arguments if line == EXEC else ("sh", "-c", line, *(("sh", *arguments) if arguments else ()))
    with watched(argv, cwd) as tell:
        script = _Script(argv, env, cwd, keeps, ends_with_us, patience_s, box)
        result = _run(script, timeout_s, output_limit, cancelled)
        tell(result.outcome)
    return result


class _Script(Record):
    """What is to be run."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path | None
    keeps: tuple[int, ...]
    ends_with_us: bool
    patience_s: float
    box: Box | None


def _run(script: _Script, timeout_s: float, output_limit: int, cancelled: Callable[[], bool]) -> ScriptResult:
    started_at = time.monotonic()
    command = Command(script.argv, add_own_commands(script.env), script.cwd, box=script.box)
    with ExitStack() as stack:
        try:
            words = boxed_words(command)
            stdin = DEVNULL
            if script.ends_with_us:  # by a shell, which becomes the program
                words, stdin = stack.enter_context(stopped_with_us(words, script.patience_s))
            process = spawn(command, words, stdin=stdin, keeps=script.keeps)
        except (OSError, SpawnFailed) as error:
            reason = f"could not be started: {error.__cause__ or error}"
            return ScriptResult(None, b"", b"", reason, time.monotonic() - started_at)
        try:
            out, err, problem = _collect(process, started_at + timeout_s, timeout_s, output_limit, cancelled)
            if problem is not None or group_lives(process.pid):
                _stop(process, script.patience_s if problem == _WAS_STOPPED else 0.0)
            code = process.wait()
        except BaseException:  # a signal to us: the script has a session of its own, and no key reaches it
            _stop(process, script.patience_s)
            raise
        finally:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
    return ScriptResult(None if problem else code, out, err, problem, time.monotonic() - started_at)


def _stop(process: subprocess.Popen[bytes], patience_s: float) -> None:
    """Stop a script with its group, unless it ends by itself within patience_s."""
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience_s)
    finally:  # whatever signal comes meanwhile
        stop(process, TERM_LADDER)


def add_own_commands(env: Mapping[str, str]) -> dict[str, str]:
    """Add the folder of this installation's commands, the adapters among them, behind all others of PATH."""
    folder = str(Path(sys.executable).parent)
    return {**env, "PATH": f"{env.get('PATH') or os.defpath}{os.pathsep}{folder}"}


def _collect(
    process: subprocess.Popen[bytes], deadline: float, timeout_s: float, limit: int, cancelled: Callable[[], bool]
) -> tuple[bytes, bytes, str | None]:
    parts: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    is_gone = False
    with selectors.DefaultSelector() as selector:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, name)
        while selector.get_map():
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                return bytes(parts["out"]), bytes(parts["err"]), f"timed out after {timeout_s:g} s"
            ready = selector.select(min(wait_s, 0.05))
            if cancelled() or is_asked():  # in a thread, which no signal reaches
                return bytes(parts["out"]), bytes(parts["err"]), _WAS_STOPPED
            for key, _events in ready:
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fileobj)
                elif len(parts[key.data]) < limit:
                    parts[key.data] += data
                elif key.data == "out":
                    problem = f"printed more than {limit >> 20} MiB"
                    return bytes(parts["out"]), bytes(parts["err"]), problem
            if not ready:
                if is_gone:
                    break  # only a grandchild holds the pipes
                # What it printed between the look at the pipes and its end is still there: look once more.
                is_gone = process.poll() is not None
    try:
        process.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return bytes(parts["out"]), bytes(parts["err"]), f"timed out after {timeout_s:g} s"
    return bytes(parts["out"]), bytes(parts["err"]), None
