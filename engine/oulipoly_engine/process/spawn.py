"""Start a child with pipes, in a box or without: its own session and group, its whole environment, nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from oulipoly_engine.errors import SpawnFailed
from oulipoly_engine.process.command import Command
from oulipoly_engine.records import replace

if TYPE_CHECKING:
    from oulipoly_engine.core.boxes.box import Box
    from oulipoly_engine.process.boxes.guard import Started

Child = subprocess.Popen[bytes]
_Process = TypeVar("_Process", bound="Started")
PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
_WITH_FILTER = ("/bin/sh", "-c", 'exec "$@" 9<"$0"')  # bubblewrap reads it at a descriptor


def spawn(
    command: Command,
    words: tuple[str, ...] = (),
    *,
    stdin: int = PIPE,
    stdout: int = PIPE,
    stderr: int = PIPE,
    keeps: tuple[int, ...] = (),
    pipe_bytes: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a command and return it.

    words: what starts it, if not its own words (in its box already); the streams: a descriptor, PIPE or DEVNULL.
    keeps: descriptors that it holds under the same numbers; pipe_bytes: how much a pipe takes, -1 the system's default.
    A sealed box ends with the thread that starts it. Raises SpawnFailed, also where its box cannot be had here.
    """
    argv = words or boxed_words(command)
    box = command.box
    if box is not None and box.inbound is not None:
        keeps = (*keeps, box.inbound.listener, box.inbound.ready)

    def start(before: tuple[str, ...] = (), more: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the command is the user's own configuration
            (*before, *argv),
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=command.cwd,
            env=dict(command.env),
            start_new_session=True,
            pass_fds=(*keeps, *more),
            pipesize=pipe_bytes,
        )

    try:
        if box is None or not box.group:
            return start_in_box(box, start)
        from oulipoly_engine.process.boxes.groups import start_in_group  # noqa: PLC0415 - few commands have a box

        return start_in_group(box, lambda *entrance: start_in_box(box, lambda: start(*entrance)))
    except (OSError, ValueError) as error:
        raise SpawnFailed(spawn_problem(command, error)) from error


def boxed_words(command: Command, *, has_terminal: bool = False) -> tuple[str, ...]:
    """Return the words that start a command in its box; its own without one.

    has_terminal: it gets a terminal that is made for it. A guarded box holds only what `start_in_box` starts.
    Raises SpawnFailed where the level cannot be had here.
    """
    box = command.box
    if box is None:
        return command.argv
    import shutil  # noqa: PLC0415 - few commands have a box

    from oulipoly_engine.core.boxes.box import Level, limit_words  # noqa: PLC0415 - the same
    from oulipoly_engine.core.boxes.bubblewrap import bubblewrap_words  # noqa: PLC0415 - the same
    from oulipoly_engine.process.boxes.guard import find_sealed_filter  # noqa: PLC0415 - the same
    from oulipoly_engine.process.boxes.machine import find_level  # noqa: PLC0415 - the same
    from oulipoly_engine.process.boxes.worktree import drop_links  # noqa: PLC0415 - the same

    obstacle = find_level(box.level).obstacle or _find_missing(box)
    if obstacle:
        raise SpawnFailed(obstacle)
    if box.level is Level.SEALED:
        box, argv = _stand_behind_proxy(drop_links(box), command.argv)
        _, *options = bubblewrap_words(box, argv, str(command.cwd or Path.cwd()), has_terminal=has_terminal)
        program = shutil.which("bwrap") or "bwrap"  # not by the PATH of the command
        file = "" if box.network == "shared" else find_sealed_filter()
        return (*_WITH_FILTER, file, program, "--seccomp", "9", *options) if file else (program, *options)
    running = 0 if box.own_limits.processes is None else _count_running()
    return limit_words(box.own_limits, command.argv, running=running)


def _stand_behind_proxy(box: Box, argv: tuple[str, ...]) -> tuple[Box, tuple[str, ...]]:
    """Return a box and words by which a program reaches the proxy of its box as one on its own loopback."""
    # Few commands have a box.
    from oulipoly_engine.core.boxes.box import Access, Limits, Mount, Network, limit_words  # noqa: PLC0415
    from oulipoly_engine.core.boxes.bubblewrap import PROXY_PORT, PROXY_SOCKET  # noqa: PLC0415 - the same
    from oulipoly_engine.process.boxes import forwarder  # noqa: PLC0415 - the same

    if box.network is not Network.PROXY:
        return box, argv
    program = str(Path(forwarder.__file__))
    own = (Mount(path, Access.READ, is_optional=True) for path in (sys.base_prefix, program))
    python = (str(Path(sys.executable).resolve()), "-I", "-S", program)
    inbound = box.inbound
    inward = "" if inbound is None else f"{inbound.listener}:{inbound.ready}:{inbound.port}"
    # The limits are the program's: without memory or processes the relay would let connections hang.
    relay = (*python, PROXY_SOCKET, str(PROXY_PORT), inward, *limit_words(box.own_limits, argv))
    return replace(box, mounts=(*box.mounts, *own), limits=Limits()), relay


def _find_missing(box: Box) -> str:
    """Return which declared path is not there; empty: none."""
    if box.network == "proxy" and not Path(box.proxy).is_socket():
        return f"the proxy of the box does not listen at {box.proxy}: start it first"
    if box.limits.tree_bytes is not None:
        from oulipoly_engine.core.agents.limits import explain_disk  # noqa: PLC0415 - few commands have a box
        from oulipoly_engine.process.boxes.disk import is_beyond  # noqa: PLC0415 - the same

        if is_beyond(Path(box.tree), box.limits.tree_bytes):
            return explain_disk(box.limits.tree_bytes, box.tree)
    for mount in box.mounts:
        place = mount.source or mount.path
        if mount.access in ("read", "write") and not mount.is_optional and not Path(place).exists():
            return f"{place} does not exist, which the box is to show: create it, or do not declare it"
    return ""


def start_in_box(box: Box | None, start: Callable[[], _Process]) -> _Process:
    """Return the process that `start` starts, held by a guarded box; any other stands in the words. Raises OSError."""
    if box is None or box.level != "guarded":
        return start()
    from oulipoly_engine.process.boxes.guard import start_guarded  # noqa: PLC0415 - few commands have a box

    return start_guarded(box, start)


def _count_running() -> int:
    """Return how many threads run on this machine, which is at least as many as those of our user."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def spawn_problem(command: Command, error: Exception) -> str:
    """Say in one sentence why a command did not start, and what to do; a secret inside its name is redacted."""
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, only a failed start needs it

    return redact(_describe_problem(command, error))


def _describe_problem(command: Command, error: Exception) -> str:
    name = command.argv[0]
    if isinstance(error, FileNotFoundError):
        if command.cwd is not None and not command.cwd.is_dir():
            return f"the working directory {command.cwd} does not exist"
        place = command.named_in if command.is_configured else "its name"
        return f"the command {name!r} was not found: install it, or correct {place}"
    if isinstance(error, NotADirectoryError):
        return f"the working directory {command.cwd} is not a directory"
    if isinstance(error, PermissionError) and command.box is not None:
        return f"the command {name!r} or its folder is not reached in its box: declare its path"
    if isinstance(error, PermissionError):
        return f"the command {name!r} may not be executed: check its rights (chmod +x)"
    if isinstance(error, OSError) and "too long" in (error.strerror or ""):
        remedy = 'use prompt_mode = "stdin"' if command.is_configured else "give fewer"
        return f"the arguments of {name!r} are too long for this system: {remedy}"
    if isinstance(error, OSError) and "format" in (error.strerror or "").lower():
        return f"the command {name!r} is not a program this system can run (missing #! line?)"
    return f"the command {name!r} could not be started: {error}"
